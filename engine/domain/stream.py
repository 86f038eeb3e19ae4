"""The events of a turn's stream. Exactly one of `Committed` and `Failed` ends it (G17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from engine.domain.avatar import Avatar
from engine.domain.recall import Recalled
from engine.domain.turn import Model
from engine.domain.usage import Tokens
from mesh.kernel.errors import MeshError


@dataclass(frozen=True, slots=True)
class Started:
    """The message is stored; always first."""

    session_id: str
    turn_id: str
    user_seq: int
    accept_time: datetime
    avatar: Avatar
    model: Model
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class ContextReady:
    """What was put before the model besides the history."""

    recalled: Recalled


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class UsageKnown:
    """Tokens of the attempt that gave the answer."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Committed:
    """The turn is durable; ends the stream."""

    turn_id: str
    seq: int
    tokens: Tokens
    model: Model
    commit_time: datetime
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn failed; ends the stream."""

    turn_id: str
    error: MeshError


Payload: TypeAlias = Started | ContextReady | Delta | UsageKnown | Committed | Failed

TERMINAL = (Committed, Failed)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event with its place.

    Args:
        epoch: counts how often the thread's stream was started anew, from 1.
        sequence: counts the events of the turn's stream, from 0.
    """

    epoch: int
    sequence: int
    payload: Payload

    @property
    def is_terminal(self) -> bool:
        """True for the event that ends the stream."""
        return isinstance(self.payload, TERMINAL)


def replay_of(
    started: Started, recalled: Recalled | None, text: str, committed: Committed, piece_chars: int
) -> Sequence[Payload]:
    """Return the stream of a committed turn, with its answer in pieces of at most `piece_chars` characters."""
    pieces = [Delta(text[start : start + piece_chars]) for start in range(0, len(text), piece_chars)]
    context = [] if recalled is None else [ContextReady(recalled)]
    return [started, *context, *pieces, UsageKnown(committed.tokens), committed]
