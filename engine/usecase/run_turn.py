"""A turn from accepted to committed or failed. It runs on its own: no caller can hold it up or take it along.

The stream always ends with exactly one event, which goes out after the transaction that it speaks of.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.domain.errors import LeaseLost, defect, interrupted
from engine.domain.prompt import Prompt, build_prompt
from engine.domain.provenance import describe
from engine.domain.recall import Recalled
from engine.domain.stream import Committed, ContextReady, Delta, Failed, Started, UsageKnown
from engine.domain.turn import Model
from engine.domain.usage import Outcome, ProviderAttempt
from engine.repository.turns import PromptRecord
from engine.usecase import metrics
from engine.usecase.abandoned import NO_PROMPT
from engine.usecase.accepted import Accepted
from engine.usecase.context import ReadContext
from engine.usecase.generation import Answer, Generation
from engine.usecase.lease import LeaseKeeper
from engine.usecase.settle import SettleTurn
from engine.usecase.stream import TurnStream
from mesh.kernel.errors import MeshError
from mesh.models.protocols import LanguageModel, ModelMessage, ModelRequest, RecalledItem
from mesh.telemetry.traces import process_tracing

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Work:
    """How far a turn came; what is needed to record it when it fails."""

    started_s: float
    prompt: PromptRecord = field(default=NO_PROMPT)
    generation: Generation | None = None
    has_spoken: bool = False

    def age_s(self) -> float:
        return asyncio.get_running_loop().time() - self.started_s

    def attempts(self, last: Outcome) -> Sequence[ProviderAttempt]:
        return self.generation.attempts(last) if self.generation else ()

    def note_first_delta(self, model: Model) -> None:
        if not self.has_spoken:
            self.has_spoken = True
            metrics.first_delta(model, self.age_s())


class RunTurn:
    """Runs accepted turns."""

    def __init__(self, model: LanguageModel, context: ReadContext, lease: LeaseKeeper, settle: SettleTurn) -> None:
        self._model = model
        self._context = context
        self._lease = lease
        self._settle = settle

    async def __call__(self, turn: Accepted, stream: TurnStream) -> None:
        """Run a turn to its end and write its stream. Raises nothing."""
        work = _Work(asyncio.get_running_loop().time())
        message = turn.message
        stream.emit(
            Started(message.session_id, turn.turn_id, turn.user_seq, turn.accept_time, message.avatar, turn.model)
        )
        end = await self._end(turn, stream, work)
        outcome = end.error.reason.value if isinstance(end, Failed) else "committed"
        metrics.turn_ended(outcome, turn.model, work.age_s())
        stream.emit(end)

    async def _end(self, turn: Accepted, stream: TurnStream, work: _Work) -> Committed | Failed:
        try:
            answer = await self._lease.keep(turn, lambda: self._answer(turn, stream, work))
            stream.emit(UsageKnown(answer.tokens))
            with process_tracing().span("commit"):
                return await self._settle.commit(turn, answer, work.prompt)
        except LeaseLost as error:
            _log.warning("turn was taken over", extra={"turn_id": turn.turn_id})
            return Failed(turn.turn_id, error)
        except MeshError as error:
            return await self._failed(turn, error, work.attempts(Outcome.FAILED), work.prompt)
        except asyncio.CancelledError:
            return await self._failed(turn, interrupted(), work.attempts(Outcome.INTERRUPTED), work.prompt)
        except Exception:  # noqa: BLE001 - the outermost frame of a detached task: a defect must end the turn visibly
            _log.exception("turn hit a defect", extra={"turn_id": turn.turn_id})
            return await self._failed(turn, defect(), work.attempts(Outcome.FAILED), work.prompt)

    async def _answer(self, turn: Accepted, stream: TurnStream, work: _Work) -> Answer:
        context = await self._context(turn)
        prompt = build_prompt(turn.message.avatar, context.history, context.recalled, turn.message.text)
        work.prompt = PromptRecord(prompt.prefix_hash, describe(context.history, context.recalled))
        stream.emit(ContextReady(context.recalled))

        def emit(text: str) -> None:
            work.note_first_delta(turn.model)
            stream.emit(Delta(text))

        work.generation = Generation(self._model, _model_request(turn, prompt, context.recalled), emit)
        with process_tracing().span("generate"):
            return await work.generation.run()

    async def _failed(
        self, turn: Accepted, error: MeshError, attempts: Sequence[ProviderAttempt], prompt: PromptRecord
    ) -> Failed:
        _log.warning("turn failed", extra={"turn_id": turn.turn_id, "reason": error.reason.value})
        try:
            if not await self._settle.fail(turn, error.reason.value, attempts, prompt):
                return Failed(turn.turn_id, LeaseLost(turn.turn_id))
        except MeshError as unrecorded:
            _log.error(
                "failed turn not recorded; it is found when its lease ends",
                extra={"turn_id": turn.turn_id, "reason": unrecorded.reason.value},
            )
        return Failed(turn.turn_id, error)


def _model_request(turn: Accepted, prompt: Prompt, recalled: Recalled) -> ModelRequest:
    return ModelRequest(
        instructions=prompt.instructions,
        messages=[ModelMessage(message.role.value, message.text) for message in prompt.messages],
        recalled=_items(recalled),
        recall_failed=recalled.failed,
        zone=turn.message.time_zone,
        now=turn.accept_time,
    )


def _items(recalled: Recalled) -> Sequence[RecalledItem]:
    facts = [
        RecalledItem(
            kind="fact",
            id=fact.id,
            text=fact.excerpt,
            key=fact.key,
            value=fact.value,
            subject=fact.subject,
            at=fact.at,
            score=fact.score,
        )
        for fact in recalled.facts
    ]
    chunks = [
        RecalledItem(
            kind="chunk",
            id=chunk.id,
            text=chunk.text,
            at=chunk.at,
            source=chunk.source,
            speaker=chunk.speaker,
            score=chunk.score,
        )
        for chunk in recalled.chunks
    ]
    return [*facts, *chunks]
