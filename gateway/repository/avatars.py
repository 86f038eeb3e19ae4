"""The table `ml.avatars`, which the gateway may only read. It belongs to no tenant: every tenant sees every avatar."""

from __future__ import annotations

from gateway.domain.avatar import Avatar
from mesh.db.queries import load
from mesh.db.transaction import Tx
from mesh.kernel.keyset import Position

_QUERIES = load(__name__, "avatars.sql")
_GET = _QUERIES.get("get_avatar")
_LIST = _QUERIES.get("list_avatars")
_EXISTS = _QUERIES.get("avatar_exists")


async def get_avatar(tx: Tx, uid: str) -> Avatar | None:
    """Return the avatar with a uid."""
    return await tx.one(_GET, {"uid": uid}, into=Avatar)


async def list_avatars(tx: Tx, after: Position, most: int) -> list[Avatar]:
    """Return avatars after a position, newest first; those without a date count as the oldest."""
    return await tx.all(_LIST, {"after_time": after.at, "after_id": after.id, "most": most}, into=Avatar)


async def avatar_exists(tx: Tx, uid: str) -> bool:
    """Tell whether an avatar has a uid."""
    return bool(await tx.value(_EXISTS, {"uid": uid}))
