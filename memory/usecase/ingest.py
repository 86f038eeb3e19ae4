"""Stores messages of a dialog as chunks: what is stored already is neither written nor embedded again (S1).

Reading, embedding and writing are three steps, since a transaction must not wait for a model. The writing step compares
again under the dialog's lock, so that two ingests of the same messages at the same time store them once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.domain.chunk import Dialog, Message, NewChunk, chunks_of
from memory.domain.chunking import DEFAULT_CHUNK_CHARS
from memory.domain.dialog_key import dialog_key
from memory.domain.vector import StoredVector
from memory.repository import chunks as rows
from memory.repository.chunks import ChunkRow, StoredPiece
from memory.usecase.embedding import Embeddings
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel.identity import Call


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of the chunks of a request; stored for replay.

    Args:
        dialog_key: where they are.
        inserted: chunks of messages that were not known.
        updated: chunks that replaced an older text of their message.
        unchanged: chunks that were stored already.
        sources: chunks of the request by source.
        pending_vectors: chunks of the request whose vector is still to be made.
    """

    dialog_key: str
    inserted: int
    updated: int
    unchanged: int
    sources: dict[str, int] = field(default_factory=dict)
    pending_vectors: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What to store in a dialog.

    Args:
        dialog: where it belongs.
        source_ids: every message that the chunks are of; one whose text is blank now has no chunk.
        chunks: the chunks of the messages, in order.
        vectors: those that are ready, by content hash.
    """

    dialog: Dialog
    source_ids: Sequence[str]
    chunks: Sequence[NewChunk]
    vectors: Mapping[bytes, StoredVector]


class IngestDialog:
    """Stores messages of the calling user's dialogs."""

    def __init__(
        self,
        db: Database,
        idempotency: Idempotency,
        embeddings: Embeddings,
        chunk_chars: int = DEFAULT_CHUNK_CHARS,
    ) -> None:
        self._db = db
        self._idempotency = idempotency
        self._embeddings = embeddings
        self._chunk_chars = chunk_chars

    async def ingest(self, call: Call, dialog: Dialog, messages: Sequence[Message], budget_s: float) -> Ingested:
        """Store messages, in the order in which they were said.

        Args:
            call: who sends them.
            dialog: where they belong.
            messages: 1 to 500, each `source_id` once.
            budget_s: seconds that may be spent on vectors.
        """
        chunks = chunks_of(dialog.dialog_key, messages, self._chunk_chars)
        vectors = await self._vectors(call.tenant_id, dialog, chunks, budget_s)
        batch = Batch(dialog, [message.source_id for message in messages], chunks, vectors)

        async def once(tx: Tx) -> Ingested:
            async def work() -> Ingested:
                return await store_chunks(tx, batch)

            return await self._idempotency.once(tx, call, Ingested, work)

        return await self._db.run(call.tenant_id, once)

    async def _vectors(
        self, tenant_id: str, dialog: Dialog, chunks: Sequence[NewChunk], budget_s: float
    ) -> dict[bytes, StoredVector]:
        async with self._db.transaction(tenant_id) as tx:
            stored = await rows.stored_pieces(tx, dialog, _source_ids(chunks))
        known = {piece.content_hash for piece in stored}
        return await vectors_of(
            self._embeddings, [chunk for chunk in chunks if chunk.content_hash not in known], budget_s
        )


def dialog_of(call: Call, key: str, avatar_id: str) -> Dialog:
    """Return the dialog that a request names; without a key, the one of the calling user with the avatar."""
    return Dialog(call.user_id, key or dialog_key(call.user_id, avatar_id), avatar_id or None)


async def vectors_of(embeddings: Embeddings, chunks: Sequence[NewChunk], budget_s: float) -> dict[bytes, StoredVector]:
    """Return the vectors of chunks that were ready in time, by content hash."""
    made = await embeddings.documents([chunk.embedded_text for chunk in chunks], budget_s)
    return {chunk.content_hash: vector for chunk, vector in zip(chunks, made, strict=True) if vector is not None}


async def store_chunks(tx: Tx, batch: Batch) -> Ingested:
    """Write what is new of a batch, under the dialog's lock."""
    next_ordinal = await rows.lock_dialog(tx, batch.dialog)
    stored = await rows.stored_pieces(tx, batch.dialog, batch.source_ids)
    by_hash = {piece.content_hash: piece for piece in stored}
    ordinals = {piece.source_id: piece.ordinal for piece in stored}
    known_messages = frozenset(ordinals)
    fresh = [chunk for chunk in batch.chunks if chunk.content_hash not in by_hash]
    for chunk in fresh:
        if chunk.message.source_id not in ordinals:
            ordinals[chunk.message.source_id] = next_ordinal
            next_ordinal += 1
    stale = _stale(stored, batch.chunks)
    await rows.delete_chunks(tx, batch.dialog, [piece.id for piece in stale])
    await rows.insert_chunks(
        tx,
        batch.dialog,
        [ChunkRow(chunk, ordinals[chunk.message.source_id], batch.vectors.get(chunk.content_hash)) for chunk in fresh],
    )
    if fresh or stale:
        places = [ordinals[chunk.message.source_id] for chunk in fresh] + [piece.ordinal for piece in stale]
        await rows.refresh_blocks(tx, batch.dialog, places)
        await rows.count_dialog(tx, batch.dialog, len(fresh) - len(stale), next_ordinal)
    updated = sum(chunk.message.source_id in known_messages for chunk in fresh)
    return Ingested(
        dialog_key=batch.dialog.dialog_key,
        inserted=len(fresh) - updated,
        updated=updated,
        unchanged=len(batch.chunks) - len(fresh),
        sources=dict(Counter(chunk.source.value for chunk in batch.chunks)),
        pending_vectors=_pending(batch, by_hash),
    )


async def delete_evidence(tx: Tx, user_id: str, turn_id: str) -> int:
    """Remove the chunks of a turn, their words in the indexes included, and return how many there were."""
    deleted = 0
    for dialog in await rows.dialogs_of_turn(tx, user_id, turn_id):
        next_ordinal = await rows.lock_dialog(tx, dialog)
        places = await rows.delete_turn(tx, dialog, turn_id)
        await rows.refresh_blocks(tx, dialog, places)
        await rows.count_dialog(tx, dialog, -len(places), next_ordinal)
        deleted += len(places)
    return deleted


def _stale(stored: Sequence[StoredPiece], chunks: Sequence[NewChunk]) -> list[StoredPiece]:
    """Return stored chunks that are no longer part of their message's text."""
    current = {chunk.content_hash for chunk in chunks}
    return [piece for piece in stored if piece.content_hash not in current]


def _pending(batch: Batch, by_hash: Mapping[bytes, StoredPiece]) -> int:
    def has_vector(chunk: NewChunk) -> bool:
        piece = by_hash.get(chunk.content_hash)
        return piece.has_vector if piece else chunk.content_hash in batch.vectors

    return sum(not has_vector(chunk) for chunk in batch.chunks)


def _source_ids(chunks: Sequence[NewChunk]) -> list[str]:
    return list(dict.fromkeys(chunk.message.source_id for chunk in chunks))
