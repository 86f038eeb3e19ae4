"""A committed turn streamed again: read, not run; nothing is written (G16)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from engine.domain.avatar import Avatar
from engine.domain.errors import turn_not_found
from engine.domain.provenance import recalled_of
from engine.domain.stream import Committed, Started, StreamEvent, replay_of
from engine.domain.thread import ThreadKey
from engine.domain.turn import Turn
from engine.domain.usage import Tokens
from engine.repository import turns
from engine.usecase.limits import REPLAY_PIECE_CHARS
from mesh.db.pool import Database


class ReplayTurn:
    """Streams committed turns again."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def __call__(self, key: ThreadKey, turn_id: str, avatar: Avatar) -> AsyncGenerator[StreamEvent, None]:
        """Return the stream of a committed turn."""
        async with self._db.transaction(key.tenant_id) as tx:
            turn = await turns.get(tx, key, turn_id)
        if turn is None or turn.assistant_seq is None or turn.end_time is None:
            raise turn_not_found(turn_id)
        tokens = turn.tokens or Tokens(0, 0, measured=False)
        end = Committed(turn.id, turn.assistant_seq, tokens, turn.model, turn.end_time, turn.finish_reason)
        return _events(turn, avatar, end)


async def _events(turn: Turn, avatar: Avatar, end: Committed) -> AsyncGenerator[StreamEvent, None]:
    started = Started(turn.session_id, turn.id, turn.user_seq, turn.create_time, avatar, turn.model, replayed=True)
    recalled = recalled_of(turn.provenance)
    payloads = replay_of(started, recalled, turn.assistant_text, end, REPLAY_PIECE_CHARS)
    for sequence, payload in enumerate(payloads):
        yield StreamEvent(turn.epoch, sequence, payload)
