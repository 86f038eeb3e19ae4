"""What a turn puts before the model: history and recall, read at the same time, recall within its budget."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from engine.domain.history import History
from engine.domain.recall import Recalled, RecallQuery, nothing_recalled
from engine.usecase import metrics
from engine.usecase.accepted import Accepted
from engine.usecase.history import Strategy
from engine.usecase.limits import TurnLimits
from engine.usecase.persist import persist
from engine.usecase.ports import Memory
from mesh.db.pool import Database
from mesh.kernel.errors import MeshError
from mesh.kernel.reasons import Reason
from mesh.telemetry.traces import process_tracing

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnContext:
    """History and recall of one turn."""

    history: History
    recalled: Recalled


class ReadContext:
    """Reads the context of turns."""

    def __init__(self, db: Database, memory: Memory, strategy: Strategy, limits: TurnLimits) -> None:
        self._db = db
        self._memory = memory
        self._strategy = strategy
        self._limits = limits

    async def __call__(self, turn: Accepted) -> TurnContext:
        """Return what goes before the model. Memory that is late or down is named in `recalled.skipped`.

        Raises:
            MeshError: the history cannot be read.
        """
        try:
            async with asyncio.TaskGroup() as group:
                recalled = group.create_task(self._recall(turn))
                history = group.create_task(self._history(turn))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        return TurnContext(history.result(), recalled.result())

    async def _history(self, turn: Accepted) -> History:
        chars = turn.history_chars
        return await persist(
            self._db,
            turn.key.tenant_id,
            lambda tx: self._strategy.read(tx, turn.key, chars),
            self._limits.commit_retry_s,
        )

    async def _recall(self, turn: Accepted) -> Recalled:
        whole = self._strategy.holds_everything(turn.history_chars)
        query = RecallQuery(
            text=turn.message.text,
            avatar_id=turn.message.avatar.uid,
            exclude_session=turn.key.session_id if whole else "",
            limit=self._limits.recall_limit,
        )
        budget_s = self._limits.recall_budget_of(turn.model)
        try:
            async with asyncio.timeout(budget_s):
                with process_tracing().span("recall"):
                    return await self._memory.recall(turn.key, query, budget_s)
        except TimeoutError:
            reason = Reason.DEADLINE_EXCEEDED
        except MeshError as error:
            reason = error.reason
        metrics.without_recall(reason.value)
        _log.warning("turn goes on without recall", extra={"turn_id": turn.turn_id, "reason": reason.value})
        return nothing_recalled(reason.value)
