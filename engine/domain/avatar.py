"""The avatar of one turn, as the gateway read it. Source: SEEDS L15."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

_WEIGHT_FILES = frozenset({".safetensors", ".bin", ".pt", ".gguf"})


@dataclass(frozen=True, slots=True)
class Avatar:
    """Who answers.

    Args:
        uid: UUID.
        slug: the readable id.
        system_prompt: the instructions that the model follows; may be empty.
        lora_adapter_path: path of the adapter; may be empty.
        lora_quality_passed: whether the adapter may be used.
    """

    uid: str
    slug: str = ""
    name: str = ""
    system_prompt: str = ""
    lora_adapter_path: str = ""
    lora_quality_passed: bool = False
    collection_name: str = ""
    voice_clone_path: str = ""
    voice_clone_text: str = ""

    @property
    def lora_name(self) -> str:
        """The adapter's name: the last part of its path, without the suffix of a weights file; empty unless passed."""
        if not self.lora_quality_passed:
            return ""
        path = PurePosixPath(self.lora_adapter_path)
        return path.stem if path.suffix in _WEIGHT_FILES else path.name
