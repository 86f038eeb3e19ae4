"""Reading turns: a page of a session, or one."""

from __future__ import annotations

from engine.domain.errors import thread_not_found, turn_not_found
from engine.domain.thread import ThreadKey
from engine.domain.turn import Turn
from engine.repository import threads, turns
from mesh.db.pool import Database
from mesh.kernel.identity import Call
from mesh.kernel.pages import Page, decode_token, encode_token, invalid_page_token, page_size

_LIST = "engine.turns"
_END = 2**63 - 1


class ListTurns:
    """Lists the turns of a session, newest first."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def __call__(self, call: Call, session_id: str, size: int, token: str) -> Page[Turn]:
        """Return a page of turns.

        Args:
            call: whose turns.
            session_id: UUID of the session.
            size: most turns, 0 for the default.
            token: of the page before, empty for the first.

        Raises:
            NotFound: the caller has no thread of this session (THREAD_NOT_FOUND).
            InvalidArgument: the token is none of this list (PAGE_TOKEN_INVALID).
        """
        key = ThreadKey(call.tenant_id, call.user_id, session_id)
        bound_to = (_LIST, call.tenant_id, call.user_id, session_id)
        before = _position(token, bound_to) if token else _END
        async with self._db.transaction(call.tenant_id) as tx:
            listed = await turns.list_before(tx, key, before, page_size(size))
        if not listed.turns and not token:
            # A thread is made together with its first turn.
            raise thread_not_found(session_id)
        following = encode_token([listed.turns[-1].user_seq], *bound_to) if listed.more else ""
        return Page(listed.turns, following)


def _position(token: str, bound_to: tuple[str, ...]) -> int:
    position = decode_token(token, *bound_to)[0]
    if not isinstance(position, int) or not 0 <= position <= _END:
        raise invalid_page_token()
    return position


class GetTurn:
    """Reads one turn."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def __call__(self, call: Call, session_id: str, turn_id: str) -> Turn:
        """Return a turn of the caller's.

        Raises:
            NotFound: the caller has no thread of this session (THREAD_NOT_FOUND), or it has no such turn
                (TURN_NOT_FOUND).
        """
        key = ThreadKey(call.tenant_id, call.user_id, session_id)
        async with self._db.transaction(call.tenant_id) as tx:
            turn = await turns.get(tx, key, turn_id)
            if turn is None and not await threads.exists(tx, key):
                raise thread_not_found(session_id)
        if turn is None:
            raise turn_not_found(turn_id)
        return turn
