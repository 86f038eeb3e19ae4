"""What the gateway adds to a turn: whom the user talks with, and what they say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatPartner:
    """What one turn needs of a session's avatar, read together with the session.

    Args:
        session_id: UUID of the session, which is active and the caller's.
        avatar_id: the uid that the session refers to.
        found: False when no avatar has that uid any more; the other fields are empty then.
        slug: the avatar's readable id.
        name: its name.
        system_prompt: instructions for the model.
        lora_adapter_path: path of its LoRA adapter.
        lora_quality_passed: True when the adapter may be used.
        collection_name: its document collection.
        voice_clone_path: reference audio for speech.
        voice_clone_text: the text of the reference audio.
    """

    session_id: str
    avatar_id: str
    found: bool
    slug: str
    name: str
    system_prompt: str
    lora_adapter_path: str
    lora_quality_passed: bool
    collection_name: str
    voice_clone_path: str
    voice_clone_text: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What a user says.

    Args:
        session_id: UUID of the session.
        text: 1 to 65,536 characters.
        request_id: the caller's UUID for retries, or empty.
        time_zone: IANA name, empty for UTC.
    """

    session_id: str
    text: str
    request_id: str
    time_zone: str
