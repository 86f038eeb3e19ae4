"""Sessions of a user: create, read, list, change, delete (L2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gateway.domain.avatar import avatar_not_found
from gateway.domain.session import NewSession, Session, SessionEdit, session_not_found
from gateway.repository import avatars, sessions
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel import keyset
from mesh.kernel.identity import Call
from mesh.kernel.ids import new_id
from mesh.kernel.keyset import Position
from mesh.kernel.pages import Page, page_size


class Sessions:
    """The sessions of the calling user. Another user's session does not exist here."""

    def __init__(self, db: Database, idempotency: Idempotency) -> None:
        self._db = db
        self._idempotency = idempotency

    async def create(self, call: Call, new: NewSession) -> Session:
        """Create a session.

        Raises:
            NotFound: no avatar has the uid (AVATAR_NOT_FOUND).
        """

        async def insert(tx: Tx) -> Session:
            if not await avatars.avatar_exists(tx, new.avatar_id):
                raise avatar_not_found(new.avatar_id)
            return _existing(await sessions.insert_session(tx, call.user_id, new_id(), new), "")

        return await self._once(call, insert)

    async def get(self, call: Call, session_id: str) -> Session:
        """Return an active session.

        Raises:
            NotFound: there is none (SESSION_NOT_FOUND).
        """
        async with self._db.transaction(call.tenant_id) as tx:
            return _existing(await sessions.get_session(tx, call.user_id, session_id), session_id)

    async def list(self, call: Call, avatar_id: str, size: int, token: str) -> Page[Session]:
        """Return a page of active sessions, newest first.

        Args:
            call: who asks.
            avatar_id: only sessions with this avatar; empty for every avatar.
            size: most sessions, 0 for the default.
            token: token of the page before, empty for the first.
        """
        bound_to = ("sessions", call.tenant_id, call.user_id, avatar_id)
        after = keyset.from_token(token, *bound_to)
        most = page_size(size)
        async with self._db.transaction(call.tenant_id) as tx:
            found = await sessions.list_sessions(tx, call.user_id, avatar_id, after, most + 1)
        return _page(found, most, bound_to)

    async def update(self, call: Call, edit: SessionEdit) -> Session:
        """Change the fields that the edit's mask names.

        Raises:
            NotFound: there is no such active session (SESSION_NOT_FOUND).
            InvalidArgument: the mask is empty or names a field that cannot be changed.
            Aborted: the session changed since (ETAG_MISMATCH).
        """
        change = edit.change()

        async def apply(tx: Tx) -> Session:
            current = _existing(await sessions.lock_session(tx, call.user_id, edit.id), edit.id)
            if current.is_deleted:
                raise session_not_found(edit.id)
            current.require_etag(edit.etag)
            return _existing(await sessions.update_session(tx, call.user_id, edit.id, change), edit.id)

        return await self._once(call, apply)

    async def delete(self, call: Call, session_id: str, etag: str) -> Session:
        """Delete a session softly. One that is deleted already is answered as it is, whatever the etag.

        Raises:
            NotFound: the user never had it (SESSION_NOT_FOUND).
            Aborted: the session changed since (ETAG_MISMATCH).
        """

        async def apply(tx: Tx) -> Session:
            current = _existing(await sessions.lock_session(tx, call.user_id, session_id), session_id)
            if current.is_deleted:
                return current
            current.require_etag(etag)
            return _existing(await sessions.delete_session(tx, call.user_id, session_id), session_id)

        return await self._once(call, apply)

    async def _once(self, call: Call, work: Callable[[Tx], Awaitable[Session]]) -> Session:
        async def in_transaction(tx: Tx) -> Session:
            return await self._idempotency.once(tx, call, Session, lambda: work(tx))

        return await self._db.run(call.tenant_id, in_transaction)


def _existing(session: Session | None, session_id: str) -> Session:
    if session is None:
        raise session_not_found(session_id)
    return session


def _page(found: list[Session], most: int, bound_to: tuple[str, ...]) -> Page[Session]:
    items = found[:most]
    if len(found) <= most:
        return Page(items)
    return Page(items, keyset.to_token(Position(items[-1].created_at, items[-1].id), *bound_to))
