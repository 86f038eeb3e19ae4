"""One streamed answer: time limits, attempts and the account of each, the same for every provider.

An adapter turns its provider's stream into `Chunk`s and its library's errors into `Failure`s; everything that callers
rely on (order of events, one usage report an attempt, no repeat after the first text, stall bounds) is decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from mesh.kernel.errors import DeadlineExceeded, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure, Retries
from mesh.models.faults import output_invalid, refused
from mesh.models.protocols import Finish, ModelEvent, ModelRequest, TextDelta, UsageReport
from mesh.models.usage import estimate_input_tokens, estimate_tokens

Ending: TypeAlias = Literal["stop", "length", "other", "refused"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts as a provider reported them, for the whole attempt so far."""

    input: int
    output: int
    cached_input: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """One message of a provider's stream.

    Args:
        text: the next piece of the answer; may be empty.
        tokens: counts so far, when this message has them.
        ending: why the answer ended, on the message that says so.
    """

    text: str = ""
    tokens: Tokens | None = None
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How long a stream may be silent.

    Args:
        first_token_timeout_s: from the call to the provider's first message, connecting included.
        stall_timeout_s: between two messages.
    """

    first_token_timeout_s: float = 20.0
    stall_timeout_s: float = 15.0


class Wire(Protocol):
    """What an adapter supplies."""

    def open(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Send the request and yield the provider's messages. Closing the generator ends the call."""
        ...

    def failure(self, error: Exception) -> Failure | None:
        """Return what an error of the provider's library means, or None when it is not one."""
        ...


async def stream_answer(
    wire: Wire, request: ModelRequest, limits: StreamLimits, retries: Retries
) -> AsyncIterator[ModelEvent]:
    """Generate one answer as `LanguageModel.stream` describes it.

    Raises:
        MeshError: as listed in `mesh.models.protocols`.
    """
    number = 0
    while True:
        number += 1
        attempt = _Attempt(wire, request, limits, number)
        failure: Failure | None = None
        try:
            async with aclosing(attempt.deltas()) as deltas:
                async for delta in deltas:
                    yield delta
        except Failure as caught:
            failure = caught
        yield attempt.usage(failure)
        if failure is None:
            retries.succeeded()
            yield Finish(attempt.finish_reason())
            return
        wait_s = retries.delay_s(failure, number)
        if wait_s is None or attempt.has_text:
            raise failure.error from failure.error.__cause__
        await asyncio.sleep(wait_s)


class _Attempt:
    """One attempt at a streamed answer, and what is known of it when it ends."""

    def __init__(self, wire: Wire, request: ModelRequest, limits: StreamLimits, number: int) -> None:
        self._wire = wire
        self._request = request
        self._limits = limits
        self._number = number
        self._parts: list[str] = []
        self._tokens: Tokens | None = None
        self._ending: Ending | None = None

    @property
    def has_text(self) -> bool:
        """Whether the caller has received text of this attempt."""
        return bool(self._parts)

    async def deltas(self) -> AsyncGenerator[TextDelta, None]:
        """Yield the answer's pieces.

        Raises:
            Failure: the attempt failed, by the wire, by silence, or by what the provider decided.
        """
        limit_s = self._limits.first_token_timeout_s
        async with aclosing(self._wire.open(self._request)) as chunks:
            while (chunk := await self._next(chunks, limit_s)) is not None:
                limit_s = self._limits.stall_timeout_s
                self._tokens = chunk.tokens or self._tokens
                self._ending = chunk.ending or self._ending
                if chunk.text and self._ending != "refused":
                    self._parts.append(chunk.text)
                    yield TextDelta(chunk.text)
        self._check_complete()

    async def _next(self, chunks: AsyncGenerator[Chunk, None], limit_s: float) -> Chunk | None:
        """Return the next message, or None at the end of the stream."""
        scope = asyncio.timeout(limit_s)
        try:
            async with scope:
                return await chunks.__anext__()
        except StopAsyncIteration:
            return None
        except Failure:
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and scope.expired():
                self._check_silence(limit_s)
                return None
            failure = self._wire.failure(error)
            if failure is None:
                raise
            raise failure from None

    def _check_silence(self, limit_s: float) -> None:
        """Refuse silence before the end of the answer; after it only token counts are missing."""
        if self._ending is not None:
            return
        what = "next" if self._parts else "first"
        message = f"the model sent no {what} token within {limit_s:g} s"
        raise Failure(DeadlineExceeded(Reason.MODEL_STALLED, message), retryable=False)

    def _check_complete(self) -> None:
        if self._ending is None:
            error = Unavailable(Reason.MODEL_UNAVAILABLE, "the model provider cut the answer off")
            raise Failure(error, retryable=True)
        if self._ending == "refused":
            raise refused()
        if not self._parts:
            raise output_invalid("the model gave an empty answer", retryable=self._ending != "length")

    def finish_reason(self) -> Literal["stop", "length", "other"]:
        """Return why a complete answer ended."""
        return "other" if self._ending is None or self._ending == "refused" else self._ending

    def usage(self, failure: Failure | None) -> UsageReport:
        """Return the account of the attempt: measured when the provider counted the whole of it, else estimated."""
        tokens = self._tokens
        if tokens is not None and self._ending is not None:
            return UsageReport(tokens.input, tokens.output, True, tokens.cached_input, self._number)
        if failure is not None and not failure.billed:
            return UsageReport(0, 0, measured=False, attempt=self._number)
        known = tokens or Tokens(estimate_input_tokens(self._request), 0)
        output = max(known.output, estimate_tokens("".join(self._parts)))
        return UsageReport(known.input, output, False, known.cached_input, self._number)
