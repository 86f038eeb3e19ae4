"""What memory is asked for a turn, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

MEMORY_ARM = "memory"
"""The arm that stands for recall as a whole, when it is late or down."""


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question to memory.

    Args:
        text: the new message.
        avatar_id: only what was learned with this avatar.
        exclude_session: a session whose chunks are left out, because the history holds all of it; empty for none.
        limit: most results, 1 to 100.
    """

    text: str
    avatar_id: str
    exclude_session: str
    limit: int


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact put before the model.

    Args:
        id: UUID.
        revision: the fact's etag, so that a stored prompt names the exact version.
        excerpt: the words that state it.
        at: when it was said, UTC; None when unknown.
        score: what it was ranked by; comparable within one recall only.
        message: memory's own protobuf message, carried unread to the caller of the turn.
    """

    id: str
    revision: str
    subject: str
    key: str
    value: str
    excerpt: str
    at: datetime | None
    score: float
    message: bytes = b""


@dataclass(frozen=True, slots=True)
class RecalledChunk:
    """A piece of evidence put before the model.

    Args:
        id: UUID.
        source: `note`, `conversation`, `profile`, `photo` or `summary`.
        speaker: who said it; empty when unknown.
        at: when it was said, UTC; None when unknown.
        score: what it was ranked by; comparable within one recall only.
        message: memory's own protobuf message, carried unread to the caller of the turn.
    """

    id: str
    source: str
    speaker: str
    text: str
    at: datetime | None
    score: float
    message: bytes = b""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of recall that is missing.

    Args:
        arm: the arm, or `MEMORY_ARM`.
        reason: an error reason, or `NO_TERMS`.
    """

    arm: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recalled for one turn, best first in each kind."""

    facts: Sequence[RecalledFact] = ()
    chunks: Sequence[RecalledChunk] = ()
    skipped: Sequence[Skipped] = ()

    @property
    def failed(self) -> bool:
        """True when memory as a whole could not be asked."""
        return any(skipped.arm == MEMORY_ARM for skipped in self.skipped)


def nothing_recalled(reason: str) -> Recalled:
    """Return the recall of a turn whose memory was late or down."""
    return Recalled(skipped=(Skipped(MEMORY_ARM, reason),))
