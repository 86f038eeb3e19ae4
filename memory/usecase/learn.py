"""Learns from one committed turn: what was said becomes chunks at once, what was stated becomes facts (G1, G4, G5).

Two transactions, each done at most once for a turn. The first notes the turn and stores its chunks, so that the words
are found even while no extractor works. The second stores the facts and notes that too. A delivery that dies in
between, or whose extractor fails, is repeated by its sender and does only what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.domain.chunk import Dialog, chunks_of
from memory.domain.chunking import DEFAULT_CHUNK_CHARS
from memory.domain.fact import FactKind, NewFact, Origin, Remembered
from memory.domain.statements import Statement
from memory.domain.turn import Turn
from memory.domain.zones import start_of_day
from memory.repository import turns
from memory.usecase.embedding import Embeddings
from memory.usecase.ingest import Batch, dialog_of, store_chunks, vectors_of
from memory.usecase.ports import FactExtractor, Utterance
from memory.usecase.remember import DEFAULT_MERGE_DISTANCE, Owner, Statements, store_facts
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel.identity import Call


@dataclass(frozen=True, slots=True)
class Learned:
    """What one delivery of a turn changed; nothing when the turn was known."""

    results: list[Remembered] = field(default_factory=list)
    chunks_inserted: int = 0


@dataclass(frozen=True, slots=True)
class LearnRules:
    """What can be set about learning.

    Args:
        chunk_chars: most characters of a chunk.
        merge_distance: see `memory.usecase.remember.DEFAULT_MERGE_DISTANCE`.
        embed_timeout_s: how long a delivery waits for vectors before the worker has to make them.
    """

    chunk_chars: int = DEFAULT_CHUNK_CHARS
    merge_distance: float = DEFAULT_MERGE_DISTANCE
    embed_timeout_s: float = 5.0


class LearnFromTurn:
    """Learns from turns of the calling user."""

    def __init__(self, db: Database, embeddings: Embeddings, extractor: FactExtractor, rules: LearnRules) -> None:
        self._db = db
        self._embeddings = embeddings
        self._extractor = extractor
        self._rules = rules

    async def learn(self, call: Call, turn: Turn) -> Learned:
        """Store a turn's chunks and facts, those that are not stored yet.

        Args:
            call: the engine's worker, acting for the user.
            turn: what was said.

        Raises:
            MeshError: the extractor failed. The chunks are stored; the same call again stores the facts.
        """
        dialog = dialog_of(call, "", turn.avatar_id)
        inserted = await self._store_chunks(call, dialog, turn)
        pending = await self._pending(call, dialog, turn)
        if pending is None:
            return Learned([], inserted)
        statements = await self._extractor.extract(Utterance(turn, pending))
        return Learned(await self._store_facts(call, turn, statements), inserted)

    async def _store_chunks(self, call: Call, dialog: Dialog, turn: Turn) -> int:
        async with self._db.transaction(call.tenant_id) as tx:
            known = await turns.is_known(tx, call.user_id, turn)
        if known:
            return 0
        messages = turn.messages()
        chunks = chunks_of(dialog.dialog_key, messages, self._rules.chunk_chars)
        vectors = await vectors_of(self._embeddings, chunks, self._rules.embed_timeout_s)
        batch = Batch(dialog, [message.source_id for message in messages], chunks, vectors)

        async def store(tx: Tx) -> int:
            if not await turns.claim_turn(tx, call.user_id, turn):
                return 0
            return (await store_chunks(tx, batch)).inserted

        return await self._db.run(call.tenant_id, store)

    async def _pending(self, call: Call, dialog: Dialog, turn: Turn) -> str | None:
        """Return what the assistant said before the turn when its facts are still to be learned; else None."""
        async with self._db.transaction(call.tenant_id) as tx:
            if await turns.facts_learned(tx, call.user_id, turn):
                return None
            return await turns.last_answer(tx, dialog, turn)

    async def _store_facts(self, call: Call, turn: Turn, statements: Sequence[Statement]) -> list[Remembered]:
        facts = [_fact(statement, turn) for statement in statements]
        vectors = await self._embeddings.documents([fact.embedded_text for fact in facts], self._rules.embed_timeout_s)
        batch = Statements(facts, vectors, self._rules.merge_distance)

        async def store(tx: Tx) -> list[Remembered]:
            if await turns.facts_learned(tx, call.user_id, turn):
                return []
            results = await store_facts(tx, Owner(call.user_id, turn.avatar_id), batch) if facts else []
            await turns.mark_facts_learned(tx, call.user_id, turn)
            return results

        return await self._db.run(call.tenant_id, store)


def _fact(statement: Statement, turn: Turn) -> NewFact:
    return NewFact(
        key=statement.key,
        value=statement.value,
        observed_at=turn.at,
        subject=statement.subject,
        kind=FactKind(statement.kind),
        category=statement.category,
        confidence=statement.confidence,
        multiple=statement.multi,
        origin=Origin(turn.session_id, turn.user_seq, turn.turn_id, statement.excerpt),
        valid_from=start_of_day(statement.valid_from, turn.zone) if statement.valid_from else None,
        retract=statement.retract,
    )
