"""The table `gateway.sessions`; every query is scoped by tenant and user."""

from __future__ import annotations

from gateway.domain.chat import ChatPartner
from gateway.domain.session import NewSession, Session, SessionChange
from mesh.db.queries import load
from mesh.db.transaction import Tx
from mesh.kernel.keyset import Position

_QUERIES = load(__name__, "sessions.sql")
_INSERT = _QUERIES.get("insert_session")
_GET = _QUERIES.get("get_session")
_LOCK = _QUERIES.get("lock_session")
_LIST = _QUERIES.get("list_sessions")
_UPDATE = _QUERIES.get("update_session")
_DELETE = _QUERIES.get("delete_session")
_CHAT_PARTNER = _QUERIES.get("get_chat_partner")


async def insert_session(tx: Tx, user_id: str, session_id: str, new: NewSession) -> Session | None:
    """Store a new session and return it."""
    values = {"avatar_id": new.avatar_id, "name": new.name, "description": new.description}
    return await tx.one(_INSERT, {**_key(tx, user_id, session_id), **values}, into=Session)


async def get_session(tx: Tx, user_id: str, session_id: str) -> Session | None:
    """Return an active session of the user."""
    return await tx.one(_GET, _key(tx, user_id, session_id), into=Session)


async def lock_session(tx: Tx, user_id: str, session_id: str) -> Session | None:
    """Return a session of the user, deleted ones too, locked until the transaction ends."""
    return await tx.one(_LOCK, _key(tx, user_id, session_id), into=Session)


async def list_sessions(tx: Tx, user_id: str, avatar_id: str, after: Position, most: int) -> list[Session]:
    """Return active sessions of the user after a position, newest first; an empty avatar_id means every avatar."""
    params = {
        "tenant_id": tx.tenant_id,
        "user_id": user_id,
        "avatar_id": avatar_id or None,
        "after_time": after.at,
        "after_id": after.id,
        "most": most,
    }
    return await tx.all(_LIST, params, into=Session)


async def update_session(tx: Tx, user_id: str, session_id: str, change: SessionChange) -> Session | None:
    """Change an active session and return it as it is now."""
    values = {"name": change.name, "description": change.description}
    return await tx.one(_UPDATE, {**_key(tx, user_id, session_id), **values}, into=Session)


async def delete_session(tx: Tx, user_id: str, session_id: str) -> Session | None:
    """Mark an active session as deleted and return it as it is now."""
    return await tx.one(_DELETE, _key(tx, user_id, session_id), into=Session)


async def get_chat_partner(tx: Tx, user_id: str, session_id: str) -> ChatPartner | None:
    """Return an active session of the user with what a turn needs of its avatar."""
    return await tx.one(_CHAT_PARTNER, _key(tx, user_id, session_id), into=ChatPartner)


def _key(tx: Tx, user_id: str, session_id: str) -> dict[str, str | None]:
    return {"tenant_id": tx.tenant_id, "user_id": user_id, "id": session_id}
