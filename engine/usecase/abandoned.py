"""Turns whose engine died: they become failed, their attempt is paid for, and the thread is free (G16, G18)."""

from __future__ import annotations

from engine.domain.errors import interrupted
from engine.domain.thread import ThreadKey, ThreadState
from engine.domain.turn import Attempt, Model
from engine.domain.usage import lost_attempt
from engine.repository import threads, turns, usage
from engine.repository.threads import Position
from engine.repository.turns import PromptRecord
from mesh.db.transaction import Tx

NO_PROMPT = PromptRecord(None, {})


async def fail_abandoned(tx: Tx, key: ThreadKey, thread: ThreadState) -> None:
    """Mark the turn of a locked thread failed and end its lease.

    How far the attempt came is not known: it is charged with an estimate of what it was going to send.
    """
    if thread.running_turn_id is None:
        return
    attempt = Attempt(thread.running_turn_id, thread.running_attempt, thread.lease_holder)
    running = await turns.running_attempt(tx, key, attempt)
    if running is not None:
        await turns.fail(tx, key, attempt, interrupted().reason.value, NO_PROMPT)
        model = Model(running.model_provider, running.model_name)
        account = usage.Account(attempt, running.avatar_id, running.request_id, model)
        await usage.insert(tx, key, account, lost_attempt(running.expected_input_tokens))
    await threads.end_lease(tx, key, Position(thread.next_seq, thread.leaf_event_id, thread.history_chars))
