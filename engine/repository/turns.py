"""Turns: one row each, from accepted to committed or failed. Their words stand in the log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine.domain.history import HistoryTurn
from engine.domain.thread import ThreadKey
from engine.domain.turn import Attempt, KnownTurn, Message, Model, Turn, TurnState
from engine.domain.usage import Tokens
from mesh.db.queries import load
from mesh.db.transaction import Tx

MAX_LIST_BYTES = 4 * 1024 * 1024
"""A page ends with the turn whose texts pass this, so that it stays far below the largest message of gRPC."""

_QUERIES = load(__name__, "turns.sql")
_KNOWN = _QUERIES.get("known_turn")
_INSERT = _QUERIES.get("insert_turn")
_RESTART = _QUERIES.get("restart_turn")
_COMMIT = _QUERIES.get("commit_turn")
_FAIL = _QUERIES.get("fail_turn")
_COMMITTED_ATTEMPT = _QUERIES.get("committed_attempt")
_RUNNING_ATTEMPT = _QUERIES.get("running_attempt")
_HISTORY = _QUERIES.get("history")
_LIST = _QUERIES.get("list_turns")
_GET = _QUERIES.get("get_turn")


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to store.

    Args:
        expected_input_tokens: estimate of what its model will read, for the case that its engine dies.
        create_time: when its message was recorded.
    """

    turn_id: str
    message: Message
    epoch: int
    user_seq: int
    model: Model
    expected_input_tokens: int
    create_time: datetime


@dataclass(frozen=True, slots=True)
class Restart:
    """A failed turn that runs again."""

    attempt: Attempt
    epoch: int
    model: Model
    expected_input_tokens: int


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """What is kept of a prompt.

    Args:
        prefix_hash: SHA-256 of its stable part; None when no prompt was made.
        provenance: ids and revisions of what went into it.
    """

    prefix_hash: bytes | None
    provenance: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a committed attempt made."""

    assistant_seq: int
    history_offset: int
    tokens: Tokens
    finish_reason: str
    prompt: PromptRecord


@dataclass(frozen=True, slots=True)
class CommittedAttempt:
    """What an attempt had committed."""

    assistant_seq: int
    end_time: datetime


@dataclass(frozen=True, slots=True)
class RunningAttempt:
    """Who an attempt was to ask, and how much it was going to send."""

    request_id: str | None
    avatar_id: str
    model_provider: str
    model_name: str
    expected_input_tokens: int


@dataclass(frozen=True, slots=True)
class _KnownRow:
    id: str
    state: str
    request_digest: bytes
    attempt: int
    user_seq: int
    create_time: datetime


@dataclass(frozen=True, slots=True)
class _TurnRow:
    id: str
    session_id: str
    request_id: str
    state: str
    attempt: int
    epoch: int
    user_seq: int
    assistant_seq: int | None
    user_text: str
    assistant_text: str
    model_provider: str
    model_name: str
    input_tokens: int | None
    output_tokens: int | None
    usage_measured: bool | None
    finish_reason: str
    failure_reason: str
    provenance: dict[str, Any]
    create_time: datetime
    end_time: datetime | None


@dataclass(frozen=True, slots=True)
class _ListedRow(_TurnRow):
    found: int


@dataclass(frozen=True, slots=True)
class Listed:
    """Turns of a thread.

    Args:
        turns: newest first.
        more: True when the thread has older ones.
    """

    turns: Sequence[Turn]
    more: bool


async def known(tx: Tx, key: ThreadKey, request_id: str) -> KnownTurn | None:
    """Return the turn of a thread that a request id belongs to."""
    row = await tx.one(_KNOWN, {**_where(key), "request_id": request_id}, into=_KnownRow)
    if row is None:
        return None
    state = TurnState(row.state)
    return KnownTurn(row.id, state, bytes(row.request_digest), row.attempt, row.user_seq, row.create_time)


async def insert(tx: Tx, key: ThreadKey, turn: NewTurn) -> None:
    """Store a turn that runs for the first time."""
    message = turn.message
    params = {
        **_where(key),
        "turn_id": turn.turn_id,
        "session_id": key.session_id,
        "avatar_id": message.avatar.uid,
        "request_id": message.request_id or None,
        "request_digest": message.digest,
        "epoch": turn.epoch,
        "user_seq": turn.user_seq,
        "model_provider": turn.model.provider,
        "model_name": turn.model.name,
        "expected_input_tokens": turn.expected_input_tokens,
        "create_time": turn.create_time,
    }
    await tx.execute(_INSERT, params)


async def restart(tx: Tx, key: ThreadKey, turn: Restart) -> None:
    """Make a failed turn run again."""
    params = {
        **_attempt(key, turn.attempt),
        "epoch": turn.epoch,
        "model_provider": turn.model.provider,
        "model_name": turn.model.name,
        "expected_input_tokens": turn.expected_input_tokens,
    }
    await tx.execute(_RESTART, params)


async def commit(tx: Tx, key: ThreadKey, attempt: Attempt, outcome: Outcome) -> datetime | None:
    """Make a running attempt committed and return when, UTC; None when it does not run any more."""
    params = {
        **_attempt(key, attempt),
        **_prompt(outcome.prompt),
        "assistant_seq": outcome.assistant_seq,
        "history_offset": outcome.history_offset,
        "input_tokens": outcome.tokens.input_tokens,
        "output_tokens": outcome.tokens.output_tokens,
        "usage_measured": outcome.tokens.measured,
        "finish_reason": outcome.finish_reason,
    }
    ended: datetime | None = await tx.value(_COMMIT, params)
    return ended


async def fail(tx: Tx, key: ThreadKey, attempt: Attempt, reason: str, prompt: PromptRecord) -> bool:
    """Make a running attempt failed; False when it does not run any more."""
    params = {**_attempt(key, attempt), **_prompt(prompt), "failure_reason": reason}
    return await tx.execute(_FAIL, params) == 1


async def committed_attempt(tx: Tx, key: ThreadKey, attempt: Attempt) -> CommittedAttempt | None:
    """Return what an attempt has committed, if it has."""
    return await tx.one(_COMMITTED_ATTEMPT, _attempt(key, attempt), into=CommittedAttempt)


async def running_attempt(tx: Tx, key: ThreadKey, attempt: Attempt) -> RunningAttempt | None:
    """Return what is known of an attempt that still counts as running."""
    return await tx.one(_RUNNING_ATTEMPT, _attempt(key, attempt), into=RunningAttempt)


async def history(tx: Tx, key: ThreadKey, cut_chars: int) -> Sequence[HistoryTurn]:
    """Return the committed turns that begin at or after a character offset, oldest first."""
    return await tx.all(_HISTORY, {**_where(key), "cut_chars": cut_chars}, into=HistoryTurn)


async def list_before(tx: Tx, key: ThreadKey, before_seq: int, most: int) -> Listed:
    """Return at most `most` turns with a user sequence under `before_seq`, fewer when their texts are very long."""
    params = {**_where(key), "before_seq": before_seq, "most": most + 1, "most_bytes": MAX_LIST_BYTES}
    rows = await tx.all(_LIST, params, into=_ListedRow)
    return Listed([_turn(row) for row in rows[:most]], more=bool(rows) and rows[0].found > min(len(rows), most))


async def get(tx: Tx, key: ThreadKey, turn_id: str) -> Turn | None:
    """Return one turn of a thread with its texts."""
    row = await tx.one(_GET, {**_where(key), "turn_id": turn_id}, into=_TurnRow)
    return None if row is None else _turn(row)


def _turn(row: _TurnRow) -> Turn:
    return Turn(
        id=row.id,
        session_id=row.session_id,
        request_id=row.request_id,
        state=TurnState(row.state),
        attempt=row.attempt,
        epoch=row.epoch,
        user_seq=row.user_seq,
        assistant_seq=row.assistant_seq,
        user_text=row.user_text,
        assistant_text=row.assistant_text,
        model=Model(row.model_provider, row.model_name),
        tokens=_tokens(row),
        finish_reason=row.finish_reason,
        failure_reason=row.failure_reason,
        provenance=row.provenance,
        create_time=row.create_time,
        end_time=row.end_time,
    )


def _tokens(row: _TurnRow) -> Tokens | None:
    if row.input_tokens is None or row.output_tokens is None:
        return None
    return Tokens(row.input_tokens, row.output_tokens, measured=bool(row.usage_measured))


def _where(key: ThreadKey) -> dict[str, object]:
    return {"tenant_id": key.tenant_id, "thread_id": key.thread_id, "user_id": key.user_id}


def _attempt(key: ThreadKey, attempt: Attempt) -> dict[str, object]:
    return {**_where(key), "turn_id": attempt.turn_id, "attempt": attempt.number}


def _prompt(prompt: PromptRecord) -> dict[str, object]:
    return {"prompt_prefix_hash": prompt.prefix_hash, "provenance": json.dumps(prompt.provenance)}
