"""Events of a thread's log. They are appended and never changed. Source: SEEDS F3, spec-felix 2.1 to 2.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class EventKind(StrEnum):
    """What an event records; other kinds come with the features that write them."""

    MESSAGE = "message"


class Role(StrEnum):
    """Who speaks in an event."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append.

    Args:
        event_id: UUID; what parents and labels point to.
        parent_id: the event that it follows; None for the first.
        seq: its place in the log, dense from 0.
        epoch: the thread's epoch when it was written.
        turn_id: the turn that wrote it.
        metadata: what later features attach, such as labels; JSON.
    """

    event_id: str
    parent_id: str | None
    seq: int
    epoch: int
    turn_id: str
    role: Role
    content: str
    kind: EventKind = EventKind.MESSAGE
    metadata: Mapping[str, Any] = field(default_factory=dict)
