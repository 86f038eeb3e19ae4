"""What the use cases need from outside, as protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memory.domain.statements import Statement
from memory.domain.turn import Turn


@dataclass(frozen=True, slots=True)
class Utterance:
    """What facts are read from: a turn, and what our side said before it (may be empty)."""

    turn: Turn
    previous: str = ""


class FactExtractor(Protocol):
    """Reads the facts that a user states."""

    async def extract(self, said: Utterance) -> list[Statement]:
        """Return the statements; none when nothing is stated.

        Raises:
            MeshError: the extractor could not work now. A failure is never an empty success.
        """
        ...
