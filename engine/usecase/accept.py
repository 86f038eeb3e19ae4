"""The first transaction of a turn: lock the thread, decide what the message does, store it and take the lease."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.errors import thread_not_found
from engine.domain.event import NewEvent, Role
from engine.domain.thread import ThreadKey, ThreadState
from engine.domain.turn import Attach, Attempt, Here, KnownTurn, Message, Model, Replay, decide
from engine.domain.usage import expected_tokens
from engine.repository import events, threads, turns
from engine.repository.threads import Lease
from engine.repository.turns import NewTurn, Restart
from engine.usecase.abandoned import fail_abandoned
from engine.usecase.accepted import Accepted
from engine.usecase.limits import TurnLimits
from engine.usecase.running import RunningTurns
from engine.usecase.stream import TurnStream
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel.ids import new_id


@dataclass(frozen=True, slots=True)
class Joined:
    """The message belongs to a turn that runs here; this is its stream."""

    stream: TurnStream


class AcceptMessage:
    """Accepts messages for the turns of this process."""

    def __init__(self, db: Database, running: RunningTurns, model: Model, limits: TurnLimits) -> None:
        self._db = db
        self._running = running
        self._model = model
        self._limits = limits

    async def __call__(self, key: ThreadKey, message: Message) -> Accepted | Joined | Replay:
        """Store a message and take the thread's lease, or say which stored or running turn answers it.

        Raises:
            NotFound: the session's thread is another user's (THREAD_NOT_FOUND).
            InvalidArgument: REQUEST_ID_REUSED.
            Aborted: TURN_IN_PROGRESS.
            ResourceExhausted: this process runs as many turns as it may (OVERLOADED).
        """
        entered: list[Attempt] = []
        try:
            return await self._db.run(key.tenant_id, lambda tx: self._accept(tx, key, message, entered))
        except BaseException:
            self._withdraw(entered)
            raise

    async def _accept(
        self, tx: Tx, key: ThreadKey, message: Message, entered: list[Attempt]
    ) -> Accepted | Joined | Replay:
        self._withdraw(entered)  # what an earlier run of this transaction entered was rolled back with it
        thread = await self._locked(tx, key, message)
        known = await turns.known(tx, key, message.request_id) if message.request_id else None
        runs_turn = self._running.runs(thread.running_turn_id, thread.running_attempt)
        decision = decide(thread, known, message.digest, Here(self._running.holder, runs_turn))
        if isinstance(decision, Attach):
            return Joined(self._running.stream(decision.turn_id))
        if isinstance(decision, Replay):
            return decision
        self._running.check_room()
        if decision.abandoned:
            await fail_abandoned(tx, key, thread)
        if known is None:
            accepted = await self._begin(tx, key, message, thread)
        else:
            accepted = await self._begin_again(tx, key, message, thread, known)
        self._running.enter(accepted.attempt, TurnStream(accepted.epoch))
        entered.append(accepted.attempt)
        return accepted

    def _withdraw(self, entered: list[Attempt]) -> None:
        while entered:
            self._running.withdraw(entered.pop())

    async def _locked(self, tx: Tx, key: ThreadKey, message: Message) -> ThreadState:
        thread = await threads.lock(tx, key)
        if thread is None:
            await threads.create(tx, key, message.avatar.uid)
            thread = await threads.lock(tx, key)
        if thread is None:
            raise thread_not_found(key.session_id)
        return thread

    async def _begin(self, tx: Tx, key: ThreadKey, message: Message, thread: ThreadState) -> Accepted:
        attempt = Attempt(new_id(), 1, self._running.holder)
        event = NewEvent(
            event_id=new_id(),
            parent_id=thread.leaf_event_id,
            seq=thread.next_seq,
            epoch=thread.epoch,
            turn_id=attempt.turn_id,
            role=Role.USER,
            content=message.text,
        )
        recorded = await events.append(tx, key, event)
        expected = self._expected(message, thread)
        turn = NewTurn(attempt.turn_id, message, thread.epoch, event.seq, self._model, expected, recorded)
        await turns.insert(tx, key, turn)
        await threads.take_lease(tx, key, self._lease(attempt, message, event.seq + 1, event.event_id, thread.epoch))
        return Accepted(key, attempt, message, self._model, thread.epoch, event.seq, recorded, thread.history_chars)

    async def _begin_again(
        self, tx: Tx, key: ThreadKey, message: Message, thread: ThreadState, known: KnownTurn
    ) -> Accepted:
        # A new epoch: cursors of the attempt that failed must not be taken for places in this one.
        attempt, epoch = Attempt(known.id, known.attempt + 1, self._running.holder), thread.epoch + 1
        await turns.restart(tx, key, Restart(attempt, epoch, self._model, self._expected(message, thread)))
        await threads.take_lease(tx, key, self._lease(attempt, message, thread.next_seq, thread.leaf_event_id, epoch))
        return Accepted(
            key, attempt, message, self._model, epoch, known.user_seq, known.create_time, thread.history_chars
        )

    def _lease(self, attempt: Attempt, message: Message, next_seq: int, leaf: str | None, epoch: int) -> Lease:
        return Lease(attempt, self._limits.lease_s, message.avatar.uid, next_seq, leaf, epoch)

    def _expected(self, message: Message, thread: ThreadState) -> int:
        past = min(thread.history_chars, self._limits.history_chars)
        return expected_tokens((len(message.avatar.system_prompt), past, len(message.text)))
