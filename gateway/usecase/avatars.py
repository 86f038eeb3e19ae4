"""Avatars, read only."""

from __future__ import annotations

from datetime import UTC, datetime

from gateway.domain.avatar import Avatar, avatar_not_found
from gateway.repository import avatars
from mesh.db.pool import Database
from mesh.kernel import keyset
from mesh.kernel.identity import Call
from mesh.kernel.keyset import Position
from mesh.kernel.pages import Page, page_size

_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
"""Where an avatar without a date stands in the list, as in the query `list_avatars`."""


class Avatars:
    """The avatars that can be talked with; the same for every tenant."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, call: Call, uid: str) -> Avatar:
        """Return an avatar.

        Raises:
            NotFound: no avatar has the uid (AVATAR_NOT_FOUND).
        """
        async with self._db.transaction(call.tenant_id) as tx:
            avatar = await avatars.get_avatar(tx, uid)
        if avatar is None:
            raise avatar_not_found(uid)
        return avatar

    async def list(self, call: Call, size: int, token: str) -> Page[Avatar]:
        """Return a page of avatars, newest first.

        Args:
            call: who asks.
            size: most avatars, 0 for the default.
            token: token of the page before, empty for the first.
        """
        bound_to = ("avatars", call.tenant_id, call.user_id)
        after = keyset.from_token(token, *bound_to)
        most = page_size(size)
        async with self._db.transaction(call.tenant_id) as tx:
            found = await avatars.list_avatars(tx, after, most + 1)
        items = found[:most]
        if len(found) <= most:
            return Page(items)
        last = Position(items[-1].created_at or _NO_DATE, items[-1].uid)
        return Page(items, keyset.to_token(last, *bound_to))
