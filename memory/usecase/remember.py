"""Stores stated facts: all of a request or none, each with what became of it (L10, G4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.domain.fact import Decision, Fact, NewFact, Outcome, Remembered, Rival, decide, dedup_hash, taken_back
from memory.domain.vector import StoredVector
from memory.repository import facts as rows
from memory.repository.facts import Cause, FactRow
from memory.usecase.embedding import Embeddings
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel.identity import Call
from mesh.kernel.ids import new_id

DEFAULT_MERGE_DISTANCE = 0.08
"""Two values of one key are the same below this cosine distance.

Measured with the built-in embedder on pairs of values: other words for the same ('films', 'movies') lie at 0.04 to
0.08, different things ('red wine', 'white wine') start at 0.10. A twin costs a line in a list, a wrong merge costs a
fact.
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose facts, learned with which avatar; None for facts that belong to no avatar."""

    user_id: str
    avatar_id: str | None


@dataclass(frozen=True, slots=True)
class Statements:
    """Facts to store with their vectors, in the same order.

    Args:
        facts: what was stated.
        vectors: None where the embedder was late.
        merge_distance: see `DEFAULT_MERGE_DISTANCE`.
    """

    facts: Sequence[NewFact]
    vectors: Sequence[StoredVector | None]
    merge_distance: float = DEFAULT_MERGE_DISTANCE


@dataclass(frozen=True, slots=True)
class RememberedFacts:
    """The answer of one request; stored for replay."""

    results: list[Remembered] = field(default_factory=list)


class RememberFacts:
    """Stores facts that a caller states directly."""

    def __init__(self, db: Database, idempotency: Idempotency, embeddings: Embeddings, merge_distance: float) -> None:
        self._db = db
        self._idempotency = idempotency
        self._embeddings = embeddings
        self._merge_distance = merge_distance

    async def remember(self, call: Call, avatar_id: str, facts: Sequence[NewFact], budget_s: float) -> RememberedFacts:
        """Store facts of the calling user.

        Args:
            call: who states them.
            avatar_id: the avatar that they belong to; empty for none.
            facts: 1 to 100.
            budget_s: seconds that may be spent on vectors.
        """
        vectors = await self._embeddings.documents([fact.embedded_text for fact in facts], budget_s)
        owner = Owner(call.user_id, avatar_id or None)
        statements = Statements(facts, vectors, self._merge_distance)

        async def store(tx: Tx) -> RememberedFacts:
            async def work() -> RememberedFacts:
                return RememberedFacts(await store_facts(tx, owner, statements))

            return await self._idempotency.once(tx, call, RememberedFacts, work)

        return await self._db.run(call.tenant_id, store)


async def store_facts(tx: Tx, owner: Owner, statements: Statements) -> list[Remembered]:
    """Store facts one after another under the user's lock; a fact sees what the ones before it changed."""
    await rows.lock_user(tx, owner.user_id)
    results = []
    for new, vector in zip(statements.facts, statements.vectors, strict=True):
        row = FactRow(new_id(), owner.avatar_id, new, dedup_hash(owner.avatar_id, new.key, new.value), vector)
        rivals = await rows.rivals(tx, owner.user_id, owner.avatar_id, new, vector)
        if new.retract:
            results += await _take_back(tx, owner.user_id, new, rivals)
            continue
        decision = decide(new, row.dedup_hash, rivals, statements.merge_distance)
        results.append(await _apply(tx, owner.user_id, row, decision))
    return results


async def _take_back(tx: Tx, user_id: str, new: NewFact, rivals: Sequence[Rival]) -> list[Remembered]:
    """End the facts that the user took back; they stay as history, with the words that ended them and no successor."""
    ended = taken_back(new, rivals)
    if not ended:
        return []
    cause = Cause(None, new.origin.turn_id, new.origin.excerpt, new.observed_at)
    retired = await rows.retire(tx, user_id, [fact.id for fact in ended], cause)
    return [Remembered(Outcome.SUPERSEDED, fact, fact.id) for fact in retired]


async def _apply(tx: Tx, user_id: str, row: FactRow, decision: Decision) -> Remembered:
    match decision:
        case Decision(Outcome.UNCHANGED | Outcome.MERGED, kept=Fact() as kept):
            return Remembered(decision.outcome, await rows.confirm(tx, user_id, kept, row.new))
        case Decision(Outcome.REFUSED, kept=Fact() as kept):
            return Remembered(Outcome.REFUSED, kept)
        case Decision(late=True, kept=Fact() as kept):
            return await _store_late(tx, user_id, row, kept)
    cause = Cause(row.id, row.new.origin.turn_id, row.new.origin.excerpt, row.new.valid_from or row.new.observed_at)
    # First retired, then inserted: the index allows one active value of a key at any moment.
    await rows.retire(tx, user_id, [fact.id for fact in decision.retired], cause)
    stored = await rows.insert_fact(tx, user_id, row)
    return Remembered(decision.outcome, stored, decision.retired[0].id if decision.retired else "")


async def _store_late(tx: Tx, user_id: str, row: FactRow, kept: Fact) -> Remembered:
    """Keep what was said before the active fact as its history, once."""
    if await rows.is_history(tx, user_id, row):
        return Remembered(Outcome.UNCHANGED, kept)
    history = FactRow(row.id, row.avatar_id, row.new, row.dedup_hash, row.vector, superseded_by=kept.id)
    await rows.insert_fact(tx, user_id, history)
    return Remembered(Outcome.SUPERSEDED, kept, row.id)
