"""Talking: the session and its avatar are the gateway's, the turn is the engine's."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Generic, TypeVar

from gateway.domain.avatar import avatar_not_found
from gateway.domain.chat import ChatMessage, ChatPartner
from gateway.domain.session import session_not_found
from gateway.repository import sessions
from gateway.usecase.ports import Engine
from mesh.db.pool import Database
from mesh.kernel.identity import Call

E = TypeVar("E")


class Chat(Generic[E]):
    """Turns of the calling user, in sessions of their own."""

    def __init__(self, db: Database, engine: Engine[E]) -> None:
        self._db = db
        self._engine = engine

    async def converse(self, call: Call, message: ChatMessage) -> AsyncGenerator[E, None]:
        """Yield the events of one turn; closing the generator leaves the turn to the engine, which finishes it.

        Raises:
            NotFound: the session is not the caller's, was deleted (SESSION_NOT_FOUND), or its avatar is gone
                (AVATAR_NOT_FOUND).
            MeshError: as the engine answered.
        """
        partner = await self._partner(call, message.session_id)
        async with aclosing(self._engine.converse(call.principal, partner, message)) as events:
            async for event in events:
                yield event

    async def _partner(self, call: Call, session_id: str) -> ChatPartner:
        async with self._db.transaction(call.tenant_id) as tx:
            partner = await sessions.get_chat_partner(tx, call.user_id, session_id)
        if partner is None:
            raise session_not_found(session_id)
        if not partner.found:
            raise avatar_not_found(partner.avatar_id)
        return partner
