"""A turn and its states: running, then committed or failed; a failed one may run again under the same id (G16).

`decide` is the whole rule of what a message does to its thread. It is pure: the caller holds the thread's lock, gives
it what the database and this process know, and carries out what it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from engine.domain.avatar import Avatar
from engine.domain.errors import request_id_reused, turn_in_progress
from engine.domain.thread import ThreadState
from engine.domain.usage import Tokens


class TurnState(StrEnum):
    """Where a turn stands."""

    RUNNING = "running"
    COMMITTED = "committed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Message:
    """A message to answer.

    Args:
        session_id: UUID.
        text: what the user said.
        request_id: a UUID that makes a retry safe, or empty.
        time_zone: IANA name, or empty for UTC.
    """

    session_id: str
    avatar: Avatar
    text: str
    request_id: str = ""
    time_zone: str = ""

    @property
    def digest(self) -> bytes:
        """SHA-256 of what the user asked; the avatar's profile may change between two tries, its uid may not."""
        digest = hashlib.sha256()
        for part in (self.session_id, self.avatar.uid, self.time_zone, self.text):
            raw = part.encode("utf-8", "surrogatepass")
            digest.update(f"{len(raw)}\n".encode())
            digest.update(raw)
        return digest.digest()


@dataclass(frozen=True, slots=True)
class Model:
    """Who answers: `builtin`, `gemini` or `openai`, and the model's name there."""

    provider: str
    name: str

    @property
    def only_repeats(self) -> bool:
        """True when its answers only repeat recalled text, so that they are no evidence of their own (G5)."""
        return self.provider == "builtin"


@dataclass(frozen=True, slots=True)
class KnownTurn:
    """The turn that a request id belongs to."""

    id: str
    state: TurnState
    request_digest: bytes
    attempt: int
    user_seq: int
    create_time: datetime


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn with its texts, as it is read.

    Args:
        state: a turn whose engine died reads as failed as soon as its lease is over.
        failure_reason: an error reason; empty unless it failed.
        provenance: what went into its prompt; empty until a model was asked.
        end_time: None while it runs.
    """

    id: str
    session_id: str
    request_id: str
    state: TurnState
    attempt: int
    epoch: int
    user_seq: int
    assistant_seq: int | None
    user_text: str
    assistant_text: str
    model: Model
    tokens: Tokens | None
    finish_reason: str
    failure_reason: str
    provenance: Mapping[str, Any]
    create_time: datetime
    end_time: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """The right to run a turn: an attempt that another one replaced may write nothing any more."""

    turn_id: str
    number: int
    holder: str


@dataclass(frozen=True, slots=True)
class Replay:
    """The turn was committed: stream it again."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class Attach:
    """The turn runs in this process: follow it."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class Start:
    """Run a turn.

    Args:
        known: the turn to try again; None for a new one.
        abandoned: True when the thread's row names a turn whose engine died, which has to be marked failed first.
    """

    known: KnownTurn | None
    abandoned: bool


Decision: TypeAlias = Replay | Attach | Start


@dataclass(frozen=True, slots=True)
class Here:
    """What this process knows of the thread's running turn.

    Args:
        holder: the name under which this process holds leases.
        runs_turn: True when the running turn of the thread's row runs in this process.
    """

    holder: str
    runs_turn: bool


def decide(thread: ThreadState, known: KnownTurn | None, digest: bytes, here: Here) -> Decision:
    """Return what a message does.

    Args:
        thread: the thread's row, locked.
        known: the turn that has the message's request id; None when it has none or is the first with it.
        digest: what the message asks.
        here: what this process knows of the running turn.

    Raises:
        InvalidArgument: the request id belongs to another message (REQUEST_ID_REUSED).
        Aborted: a turn runs that this message cannot join (TURN_IN_PROGRESS).
    """
    if known is not None and known.request_digest != digest:
        raise request_id_reused()
    if known is not None and known.state is TurnState.COMMITTED:
        return Replay(known.id)
    running = thread.running_turn_id
    if running is not None and _is_alive(thread, here):
        if known is not None and known.id == running and here.runs_turn:
            return Attach(running)
        raise turn_in_progress(running)
    return Start(known, abandoned=running is not None)


def _is_alive(thread: ThreadState, here: Here) -> bool:
    if thread.lease_holder == here.holder:
        # The process knows best: a turn that it no longer runs has ended without being able to say so.
        return here.runs_turn
    return not thread.lease_ended


def is_time_zone(name: str) -> bool:
    """Tell whether a text is an IANA time zone of this machine; an empty one is, and means UTC."""
    try:
        return not name or bool(ZoneInfo(name).key)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
