"""Avatars: the rows of `ml.avatars`, which other systems write."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mesh.kernel.errors import NotFound, not_found
from mesh.kernel.reasons import Reason


@dataclass(frozen=True, slots=True)
class Avatar:
    """An avatar with the 17 columns of its table (L1); columns that are null there are empty here.

    Args:
        uid: UUID, the key that sessions refer to.
        avatar_id: readable id, not a key.
        creator_id: who made it.
        name: its name.
        system_prompt: instructions for the model.
        lora_adapter_path: path of its LoRA adapter.
        lora_quality_passed: True when the adapter may be used.
        collection_name: its document collection.
        voice_clone_path: reference audio for speech.
        voice_clone_text: the text of the reference audio.
        description: for people.
        tags: words to find it by.
        preview_url: a picture.
        elevenlabs_voice_id: its voice at ElevenLabs.
        customization: free settings, a JSON object.
        created_at: when it was made (`date` in the table), UTC; None when unknown.
        updated_at: when it last changed, UTC; None when unknown.
    """

    uid: str
    avatar_id: str
    creator_id: str
    name: str
    system_prompt: str
    lora_adapter_path: str
    lora_quality_passed: bool
    collection_name: str
    voice_clone_path: str
    voice_clone_text: str
    description: str
    tags: list[str]
    preview_url: str
    elevenlabs_voice_id: str
    customization: dict[str, Any]
    created_at: datetime | None
    updated_at: datetime | None


def avatar_not_found(uid: str) -> NotFound:
    """Return the error for a uid that no avatar has."""
    return not_found(Reason.AVATAR_NOT_FOUND, "avatar", uid)
