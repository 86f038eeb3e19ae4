"""The last transaction of a turn: answer or failure, what it cost, the lesson for memory, and the end of the lease.

Only the attempt that the thread's row names may write (fencing): an engine that was paused past its lease finds another
attempt there and throws its answer away. Both transactions may run again after a lost connection: a commit whose own
answer was lost is recognised by its attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from engine.domain.errors import LeaseLost, database_error
from engine.domain.event import NewEvent, Role
from engine.domain.lesson import TOPIC, Lesson
from engine.domain.stream import Committed
from engine.domain.thread import ThreadState
from engine.domain.usage import ProviderAttempt
from engine.repository import events, threads, turns, usage
from engine.repository.threads import Position
from engine.repository.turns import Outcome, PromptRecord
from engine.usecase.accepted import Accepted
from engine.usecase.generation import Answer
from engine.usecase.limits import TurnLimits
from engine.usecase.persist import persist
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.jobs.outbox import Outbox
from mesh.kernel.errors import AlreadyExists, FailedPrecondition, InvalidArgument
from mesh.kernel.ids import new_id


class SettleTurn:
    """Ends turns."""

    def __init__(self, db: Database, outbox: Outbox, limits: TurnLimits) -> None:
        self._db = db
        self._outbox = outbox
        self._limits = limits

    async def commit(self, turn: Accepted, answer: Answer, prompt: PromptRecord) -> Committed:
        """Store the answer; waits for a database that is away, within bounds.

        Raises:
            LeaseLost: another attempt took the turn over; nothing was written.
            MeshError: the database stayed away (DATABASE_UNAVAILABLE), or refused (DB_ERROR).
        """
        try:
            return await persist(
                self._db,
                turn.key.tenant_id,
                lambda tx: self._commit(tx, turn, answer, prompt),
                self._limits.commit_retry_s,
            )
        except (InvalidArgument, AlreadyExists, FailedPrecondition) as error:
            # Nothing in an answer is the caller's input: what the database refuses here is a defect of ours.
            raise database_error() from error

    async def fail(
        self, turn: Accepted, reason: str, attempts: Sequence[ProviderAttempt], prompt: PromptRecord
    ) -> bool:
        """Store that the turn failed and what it cost; False when another attempt took it over.

        Raises:
            MeshError: the database stayed away; the turn is found dead when its lease ends.
        """
        return await persist(
            self._db,
            turn.key.tenant_id,
            lambda tx: self._fail(tx, turn, reason, attempts, prompt),
            self._limits.commit_retry_s,
        )

    async def _commit(self, tx: Tx, turn: Accepted, answer: Answer, prompt: PromptRecord) -> Committed:
        thread = await threads.lock(tx, turn.key)
        if thread is None or not _holds(thread, turn):
            return await self._committed_before(tx, turn, answer)
        event = _assistant_event(turn, thread, answer)
        await events.append(tx, turn.key, event)
        outcome = Outcome(event.seq, thread.history_chars, answer.tokens, answer.finish_reason, prompt)
        ended = await turns.commit(tx, turn.key, turn.attempt, outcome)
        if ended is None:
            raise LeaseLost(turn.turn_id)
        await self._charge(tx, turn, answer.attempts)
        chars = thread.history_chars + len(turn.message.text) + len(answer.text)
        await threads.end_lease(tx, turn.key, Position(event.seq + 1, event.event_id, chars))
        await self._outbox.append(tx, TOPIC, turn.key.thread_id, _lesson(turn, answer, event.seq).encode())
        return Committed(turn.turn_id, event.seq, answer.tokens, turn.model, ended, answer.finish_reason)

    async def _committed_before(self, tx: Tx, turn: Accepted, answer: Answer) -> Committed:
        before = await turns.committed_attempt(tx, turn.key, turn.attempt)
        if before is None:
            raise LeaseLost(turn.turn_id)
        return Committed(
            turn.turn_id, before.assistant_seq, answer.tokens, turn.model, before.end_time, answer.finish_reason
        )

    async def _fail(
        self, tx: Tx, turn: Accepted, reason: str, attempts: Sequence[ProviderAttempt], prompt: PromptRecord
    ) -> bool:
        thread = await threads.lock(tx, turn.key)
        if thread is None or not _holds(thread, turn):
            return False
        await turns.fail(tx, turn.key, turn.attempt, reason, prompt)
        await self._charge(tx, turn, attempts)
        await threads.end_lease(tx, turn.key, Position(thread.next_seq, thread.leaf_event_id, thread.history_chars))
        return True

    async def _charge(self, tx: Tx, turn: Accepted, attempts: Sequence[ProviderAttempt]) -> None:
        message = turn.message
        account = usage.Account(turn.attempt, message.avatar.uid, message.request_id or None, turn.model)
        for spent in attempts:
            await usage.insert(tx, turn.key, account, spent)


def _holds(thread: ThreadState, turn: Accepted) -> bool:
    mine = turn.attempt
    return (thread.running_turn_id, thread.running_attempt, thread.lease_holder) == (
        mine.turn_id,
        mine.number,
        mine.holder,
    )


def _assistant_event(turn: Accepted, thread: ThreadState, answer: Answer) -> NewEvent:
    return NewEvent(
        event_id=new_id(),
        parent_id=thread.leaf_event_id,
        seq=thread.next_seq,
        epoch=thread.epoch,
        turn_id=turn.turn_id,
        role=Role.ASSISTANT,
        content=answer.text,
    )


def _lesson(turn: Accepted, answer: Answer, assistant_seq: int) -> Lesson:
    message = turn.message
    return Lesson(
        user_id=turn.key.user_id,
        session_id=turn.key.session_id,
        turn_id=turn.turn_id,
        user_seq=turn.user_seq,
        assistant_seq=assistant_seq,
        avatar_id=message.avatar.uid,
        avatar_name=message.avatar.name,
        user_text=message.text,
        assistant_text=answer.text,
        assistant_grounded=turn.model.only_repeats,
        turn_time=turn.accept_time.astimezone(UTC).isoformat(),
        time_zone=message.time_zone,
    )
