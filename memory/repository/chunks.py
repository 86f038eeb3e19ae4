"""The tables `memory.chunks` and `memory.dialogs`; every query is scoped by tenant and user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memory.domain.chunk import BLOCK_CHUNKS, Dialog, NewChunk, block_of
from memory.domain.vector import StoredVector
from memory.repository.vectors import halfvec
from mesh.db.queries import load
from mesh.db.transaction import Tx

_QUERIES = load(__name__, "chunks.sql")
_LOCK_DIALOG = _QUERIES.get("lock_dialog")
_STORED = _QUERIES.get("stored_pieces")
_INSERT = _QUERIES.get("insert_chunks")
_DELETE = _QUERIES.get("delete_chunks")
_REFRESH_BLOCKS = _QUERIES.get("refresh_blocks")
_DIALOGS_OF_TURN = _QUERIES.get("dialogs_of_turn")
_DELETE_TURN = _QUERIES.get("delete_turn")
_COUNT = _QUERIES.get("count_dialog")
_SCOPE_SIZE = _QUERIES.get("scope_size")


@dataclass(frozen=True, slots=True)
class StoredPiece:
    """What is known of a stored chunk before it is compared with a new text."""

    id: str
    source_id: str
    content_hash: bytes
    ordinal: int
    has_vector: bool


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk to insert: the chunk, its position in the dialog, and its vector if there is one."""

    chunk: NewChunk
    ordinal: int
    vector: StoredVector | None


@dataclass(frozen=True, slots=True)
class _Key:
    dialog_key: str


@dataclass(frozen=True, slots=True)
class _Place:
    ordinal: int


async def lock_dialog(tx: Tx, dialog: Dialog) -> int:
    """Create or take a dialog, wait until nobody else writes to it, and return its next position."""
    ordinal: int = await tx.value(_LOCK_DIALOG, {**_scope(tx, dialog), "avatar_id": dialog.avatar_id})
    return ordinal


async def stored_pieces(tx: Tx, dialog: Dialog, source_ids: Sequence[str]) -> list[StoredPiece]:
    """Return the stored chunks of some messages of a dialog."""
    return await tx.all(_STORED, {**_scope(tx, dialog), "source_ids": list(source_ids)}, into=StoredPiece)


async def insert_chunks(tx: Tx, dialog: Dialog, rows: Sequence[ChunkRow]) -> None:
    """Store chunks in one statement; the caller holds the dialog's lock."""
    if not rows:
        return
    space_id = next((row.vector.space_id for row in rows if row.vector), None)
    params = {**_scope(tx, dialog), "avatar_id": dialog.avatar_id, "space_id": space_id, **_columns(rows)}
    await tx.execute(_INSERT, params)


async def refresh_blocks(tx: Tx, dialog: Dialog, ordinals: Iterable[int]) -> None:
    """Gather the words of the blocks in which chunks were stored or removed; the caller holds the dialog's lock."""
    blocks = sorted({block_of(ordinal) for ordinal in ordinals})
    if blocks:
        await tx.execute(_REFRESH_BLOCKS, {**_scope(tx, dialog), "blocks": blocks, "size": BLOCK_CHUNKS})


async def delete_chunks(tx: Tx, dialog: Dialog, ids: Sequence[str]) -> None:
    """Remove chunks of a dialog."""
    if ids:
        await tx.execute(_DELETE, {**_scope(tx, dialog), "ids": list(ids)})


async def dialogs_of_turn(tx: Tx, user_id: str, turn_id: str) -> list[Dialog]:
    """Return the dialogs that hold chunks of a turn."""
    params = {"tenant_id": tx.tenant_id, "user_id": user_id, "turn_id": turn_id}
    return [Dialog(user_id, row.dialog_key, None) for row in await tx.all(_DIALOGS_OF_TURN, params, into=_Key)]


async def delete_turn(tx: Tx, dialog: Dialog, turn_id: str) -> list[int]:
    """Remove the chunks of a turn from a dialog and return their positions; the caller holds the dialog's lock."""
    rows = await tx.all(_DELETE_TURN, {**_scope(tx, dialog), "turn_id": turn_id}, into=_Place)
    return [row.ordinal for row in rows]


async def count_dialog(tx: Tx, dialog: Dialog, change: int, next_ordinal: int) -> None:
    """Note how many chunks a dialog won or lost, and its next position; the caller holds the dialog's lock."""
    await tx.execute(_COUNT, {**_scope(tx, dialog), "change": change, "next_ordinal": next_ordinal})


async def scope_size(tx: Tx, user_id: str, dialog_key: str) -> int | None:
    """Return how many chunks a dialog holds, or all of a user's when the key is empty; None when there is no dialog."""
    params = {"tenant_id": tx.tenant_id, "user_id": user_id, "dialog_key": dialog_key or None}
    size: int | None = await tx.value(_SCOPE_SIZE, params)
    return size


def _scope(tx: Tx, dialog: Dialog) -> dict[str, Any]:
    return {"tenant_id": tx.tenant_id, "user_id": dialog.user_id, "dialog_key": dialog.dialog_key}


def _columns(rows: Sequence[ChunkRow]) -> dict[str, list[Any]]:
    chunks = [row.chunk for row in rows]
    messages = [chunk.message for chunk in chunks]
    return {
        "ids": [chunk.id for chunk in chunks],
        "content_hashes": [chunk.content_hash for chunk in chunks],
        "sources": [chunk.source.value for chunk in chunks],
        "source_ids": [message.source_id for message in messages],
        "parts": [chunk.part for chunk in chunks],
        "sessions": [message.session for message in messages],
        "ordinals": [row.ordinal for row in rows],
        "speakers": [message.speaker for message in messages],
        "texts": [chunk.text for chunk in chunks],
        "directions": [message.direction.value if message.direction else None for message in messages],
        "sent_ats": [message.sent_at for message in messages],
        "tags": [" ".join(chunk.tags) for chunk in chunks],
        "turn_ids": [message.turn_id for message in messages],
        "lexes": [chunk.lexemes.tsvector() for chunk in chunks],
        "lex_lengths": [chunk.lexemes.length for chunk in chunks],
        "embeddings": [halfvec(row.vector.values) if row.vector else None for row in rows],
    }
