"""The table `memory.facts`; every query is scoped by tenant and user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from memory.domain.fact import Fact, FactFilter, FactTrust, NewFact, Rival
from memory.domain.vector import StoredVector
from memory.repository.vectors import halfvec
from mesh.db.queries import load
from mesh.db.transaction import Tx
from mesh.kernel.keyset import Position

_QUERIES = load(__name__, "facts.sql")
_LOCK_USER = _QUERIES.get("lock_user")
_RIVALS = _QUERIES.get("rivals")
_INSERT = _QUERIES.get("insert_fact")
_HISTORY_OF = _QUERIES.get("history_of")
_RETIRE = _QUERIES.get("retire")
_CONFIRM = _QUERIES.get("confirm")
_GET = _QUERIES.get("get_fact")
_LIST = _QUERIES.get("list_facts")
_DELETE = _QUERIES.get("delete_fact")
_TOUCH = _QUERIES.get("touch_seen")


@dataclass(frozen=True, slots=True)
class Cause:
    """What retired a fact: its successor, or none after a retraction; the turn and the words; since when.

    Args:
        successor: id of the fact that takes its place.
        turn_id: the turn in which it was said.
        excerpt: the words.
        at: when the old value stopped to hold, as far as anybody knows.
    """

    successor: str | None
    turn_id: str | None
    excerpt: str
    at: datetime


@dataclass(frozen=True, slots=True)
class _RivalRow(Fact):
    distance: float | None = None

    def rival(self) -> Rival:
        values = {field.name: getattr(self, field.name) for field in fields(Fact)}
        return Rival(Fact(**values), self.distance)


async def lock_user(tx: Tx, user_id: str) -> None:
    """Wait until no other transaction writes facts of this user."""
    await tx.value(_LOCK_USER, {"tenant_id": tx.tenant_id, "user_id": user_id})


async def rivals(tx: Tx, user_id: str, avatar_id: str | None, new: NewFact, vector: StoredVector | None) -> list[Rival]:
    """Return the active facts with the subject and key of a new one, latest first."""
    params = {
        **_scope(tx, user_id),
        "avatar_id": avatar_id,
        "subject": new.subject,
        "fact_key": new.key,
        "embedding": halfvec(vector.values) if vector else None,
    }
    return [row.rival() for row in await tx.all(_RIVALS, params, into=_RivalRow)]


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact to insert.

    Args:
        id: UUID.
        avatar_id: None when it belongs to no avatar.
        new: what was stated.
        dedup_hash: 32 bytes.
        vector: None when the embedder could not make it in time.
        superseded_by: the successor of a fact that is history from the start; None for an active one.
    """

    id: str
    avatar_id: str | None
    new: NewFact
    dedup_hash: bytes
    vector: StoredVector | None = None
    superseded_by: str | None = None


async def insert_fact(tx: Tx, user_id: str, row: FactRow) -> Fact:
    """Store a fact and return it."""
    (stored,) = await tx.all(_INSERT, {**_scope(tx, user_id), **_columns(row)}, into=Fact)
    return stored


async def is_history(tx: Tx, user_id: str, row: FactRow) -> bool:
    """Tell whether the same late statement was stored before."""
    params = {
        **_scope(tx, user_id),
        "subject": row.new.subject,
        "dedup_hash": row.dedup_hash,
        "observed_at": row.new.observed_at,
    }
    return await tx.value(_HISTORY_OF, params) is not None


async def retire(tx: Tx, user_id: str, ids: Sequence[str], cause: Cause) -> list[Fact]:
    """Supersede active facts and return them as they are now."""
    params = {
        **_scope(tx, user_id),
        "ids": list(ids),
        "successor": cause.successor,
        "turn_id": cause.turn_id,
        "excerpt": cause.excerpt,
        "valid_to": cause.at,
    }
    return await tx.all(_RETIRE, params, into=Fact)


async def confirm(tx: Tx, user_id: str, fact: Fact, again: NewFact) -> Fact:
    """Note that an active fact was stated again, and return it as it is now."""
    trusted: FactTrust = max(fact.trust, again.trust, key=lambda trust: trust.rank)
    params = {
        **_scope(tx, user_id),
        "id": fact.id,
        "confidence": again.confidence,
        "trust": trusted.value,
        "observed_at": again.observed_at,
        "valid_from": again.valid_from,
        "valid_to": again.valid_to,
    }
    return await tx.one(_CONFIRM, params, into=Fact) or fact


async def get_fact(tx: Tx, user_id: str, fact_id: str) -> Fact | None:
    """Return a fact of the user, whatever its status."""
    return await tx.one(_GET, {**_scope(tx, user_id), "id": fact_id}, into=Fact)


async def list_facts(tx: Tx, user_id: str, which: FactFilter, after: Position, most: int) -> list[Fact]:
    """Return facts of the user after a position, newest `last_seen_at` first."""
    params = {
        **_scope(tx, user_id),
        "statuses": [status.value for status in which.statuses],
        "avatar_id": which.avatar_id or None,
        "fact_key": which.key or None,
        "turn_id": which.turn_id or None,
        "after_time": after.at,
        "after_id": after.id,
        "most": most,
    }
    return await tx.all(_LIST, params, into=Fact)


async def delete_fact(tx: Tx, user_id: str, fact_id: str) -> Fact | None:
    """Delete a fact softly and return it; None when it is deleted already or not there."""
    return await tx.one(_DELETE, {**_scope(tx, user_id), "id": fact_id}, into=Fact)


async def touch_seen(tx: Tx, seen: Sequence[tuple[str, str, datetime]]) -> int:
    """Note when facts were put before a model; each entry is user id, fact id and time."""
    params = {
        "tenant_id": tx.tenant_id,
        "user_ids": [user_id for user_id, _, _ in seen],
        "ids": [fact_id for _, fact_id, _ in seen],
        "times": [at for _, _, at in seen],
    }
    return await tx.execute(_TOUCH, params)


def _scope(tx: Tx, user_id: str) -> dict[str, Any]:
    return {"tenant_id": tx.tenant_id, "user_id": user_id}


def _columns(row: FactRow) -> dict[str, Any]:
    new = row.new
    words = new.lexemes
    return {
        "id": row.id,
        "avatar_id": row.avatar_id,
        "subject": new.subject,
        "kind": new.kind.value,
        "category": new.category,
        "fact_key": new.key,
        "fact_value": new.value,
        "confidence": new.confidence,
        "trust": new.trust.value,
        "multiple": new.multiple,
        "source_session_id": new.origin.session_id,
        "source_seq": new.origin.seq,
        "source_turn_id": new.origin.turn_id,
        "source_excerpt": new.origin.excerpt,
        "observed_at": new.observed_at,
        "valid_from": new.valid_from,
        "valid_to": new.valid_to,
        "dedup_hash": row.dedup_hash,
        "superseded_by": row.superseded_by,
        "lex": words.tsvector(),
        "lex_length": words.length,
        "embedding": halfvec(row.vector.values) if row.vector else None,
        "space_id": row.vector.space_id if row.vector else None,
    }
