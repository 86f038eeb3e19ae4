"""The table `memory.learned_turns`: which turns were learned, so that a second delivery changes nothing."""

from __future__ import annotations

from typing import Any

from memory.domain.chunk import Dialog
from memory.domain.turn import Turn
from mesh.db.queries import load
from mesh.db.transaction import Tx

_QUERIES = load(__name__, "turns.sql")
_CLAIM = _QUERIES.get("claim_turn")
_IS_KNOWN = _QUERIES.get("is_known")
_FACTS_LEARNED = _QUERIES.get("facts_learned")
_MARK = _QUERIES.get("mark_facts_learned")
_LAST_ANSWER = _QUERIES.get("last_answer")


async def claim_turn(tx: Tx, user_id: str, turn: Turn) -> bool:
    """Note a turn and tell whether it is new; waits for a transaction that notes the same one."""
    return await tx.execute(_CLAIM, {**_key(tx, user_id, turn), "turn_id": turn.turn_id}) == 1


async def is_known(tx: Tx, user_id: str, turn: Turn) -> bool:
    """Tell whether a turn was noted."""
    return bool(await tx.value(_IS_KNOWN, _key(tx, user_id, turn)))


async def facts_learned(tx: Tx, user_id: str, turn: Turn) -> bool:
    """Tell whether the facts of a known turn are stored; nobody else can store them before this transaction ends."""
    return bool(await tx.value(_FACTS_LEARNED, _key(tx, user_id, turn)))


async def mark_facts_learned(tx: Tx, user_id: str, turn: Turn) -> None:
    """Note that the facts of a turn are stored."""
    await tx.execute(_MARK, _key(tx, user_id, turn))


async def last_answer(tx: Tx, dialog: Dialog, turn: Turn) -> str:
    """Return what the assistant said last in the session before a turn, as far as it was stored; else an empty text."""
    params = {
        "tenant_id": tx.tenant_id,
        "user_id": dialog.user_id,
        "dialog_key": dialog.dialog_key,
        "session": turn.session_id,
        "before": turn.at,
        "turn_id": turn.turn_id,
    }
    return str(await tx.value(_LAST_ANSWER, params) or "")


def _key(tx: Tx, user_id: str, turn: Turn) -> dict[str, Any]:
    return {
        "tenant_id": tx.tenant_id,
        "user_id": user_id,
        "session_id": turn.session_id,
        "user_seq": turn.user_seq,
    }
