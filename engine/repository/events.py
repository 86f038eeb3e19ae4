"""The log of a thread: events go in at its end and are never changed (F3)."""

from __future__ import annotations

import json
from datetime import datetime

from engine.domain.event import NewEvent
from engine.domain.thread import ThreadKey
from mesh.db.queries import load
from mesh.db.transaction import Tx

_APPEND = load(__name__, "events.sql").get("append_event")


async def append(tx: Tx, key: ThreadKey, event: NewEvent) -> datetime:
    """Append an event to a locked thread and return when it was recorded, UTC."""
    params = {
        "tenant_id": key.tenant_id,
        "thread_id": key.thread_id,
        "session_id": key.session_id,
        "user_id": key.user_id,
        "seq": event.seq,
        "event_id": event.event_id,
        "parent_id": event.parent_id,
        "turn_id": event.turn_id,
        "epoch": event.epoch,
        "kind": event.kind.value,
        "role": event.role.value,
        "content": event.content,
        "metadata": json.dumps(event.metadata),
    }
    recorded: datetime = await tx.value(_APPEND, params)
    return recorded
