"""One answer in the making: the model's events become text to stream and attempts to account for.

Text is cleaned before it is streamed, so that what is stored is what was streamed: PostgreSQL stores neither NUL nor
half of a surrogate pair (G12, G17).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from engine.domain.errors import empty_answer
from engine.domain.usage import Outcome, ProviderAttempt, Tokens
from engine.usecase.limits import MAX_ANSWER_CHARS
from mesh.kernel.errors import MeshError
from mesh.models.protocols import Finish, LanguageModel, ModelEvent, ModelRequest, TextDelta, UsageReport
from mesh.models.usage import estimated_usage

CUT = "length"
STOPPED = "stop"

_ASKED = "MODEL_"
"""Start of every reason that a provider's attempt ends with."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer.

    Args:
        finish_reason: `stop`, or `length` when it was cut.
        attempts: what it cost; the last one gave the answer.
    """

    text: str
    finish_reason: str
    attempts: Sequence[ProviderAttempt]

    @property
    def tokens(self) -> Tokens:
        """Tokens of the attempt that gave the answer."""
        return self.attempts[-1].tokens


class Generation:
    """Runs one request at a model."""

    def __init__(self, model: LanguageModel, request: ModelRequest, emit: Callable[[str], None]) -> None:
        self._model = model
        self._request = request
        self._emit = emit
        self._pieces: list[str] = []
        self._chars = 0
        self._reports: list[UsageReport] = []
        self._unreported = False

    async def run(self) -> Answer:
        """Return the answer; its pieces go to `emit` as they come.

        Raises:
            MeshError: as `LanguageModel.stream`, and MODEL_OUTPUT_INVALID for an empty answer.
        """
        self._unreported = True
        try:
            finish_reason = await self._read()
        except MeshError as error:
            # An adapter reports the attempt that failed before it raises; what was never asked costs nothing.
            self._unreported = self._unreported and error.reason.value.startswith(_ASKED)
            raise
        if not self._chars:
            raise empty_answer()
        return Answer("".join(self._pieces), finish_reason, self.attempts(Outcome.FINISHED))

    def attempts(self, last: Outcome) -> Sequence[ProviderAttempt]:
        """Return what was spent so far, an attempt that its provider did not report as an estimate.

        Args:
            last: how the last attempt ended; those before it failed.
        """
        reports = list(self._reports)
        if self._unreported:
            reports.append(estimated_usage(self._request, "".join(self._pieces), attempt=len(reports) + 1))
        return [
            ProviderAttempt(number, _tokens(report), last if number == len(reports) else Outcome.FAILED)
            for number, report in enumerate(reports, start=1)
        ]

    async def _read(self) -> str:
        stream = cast("AsyncGenerator[ModelEvent, None]", self._model.stream(self._request))
        async with aclosing(stream) as events:
            async for event in events:
                match event:
                    case TextDelta(text):
                        if self._add(text):
                            return CUT
                    case UsageReport():
                        self._reports.append(event)
                        self._unreported = False
                    case Finish(reason):
                        return CUT if reason == CUT else STOPPED
        return STOPPED

    def _add(self, text: str) -> bool:
        room = MAX_ANSWER_CHARS - self._chars
        piece = storable(text)[:room]
        if piece:
            self._unreported = True
            self._pieces.append(piece)
            self._chars += len(piece)
            self._emit(piece)
        return self._chars >= MAX_ANSWER_CHARS


def storable(text: str) -> str:
    """Return a text without what PostgreSQL cannot store: NUL, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()


def _tokens(report: UsageReport) -> Tokens:
    return Tokens(report.input_tokens, report.output_tokens, report.measured, report.cached_input_tokens)
