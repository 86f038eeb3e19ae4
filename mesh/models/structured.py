"""One JSON object from a model: attempts, the reading of its reply and the account of each, for every provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mesh.kernel.errors import Unavailable
from mesh.models.attempts import Failure, Retries, bounded
from mesh.models.faults import refused
from mesh.models.model_json import read_object
from mesh.models.protocols import ModelMessage, ModelRequest, OnUsage, UsageReport
from mesh.models.streaming import Ending, Tokens
from mesh.models.usage import estimated_usage

SECOND_TEMPERATURE = 0.4
"""Temperature after a first attempt at 0: the same reply to the same prompt would be broken in the same way."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked in one attempt.

    Args:
        instructions: the system instruction; may be empty.
        prompt: what to read, and what to extract.
        schema: JSON Schema of the object.
        temperature: 0 on the first attempt.
    """

    instructions: str
    prompt: str
    schema: Mapping[str, Any]
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What the provider answered: its text, the counts it reported, and why it ended."""

    text: str
    tokens: Tokens | None = None
    ending: Ending | None = None


class JsonWire(Protocol):
    """What an adapter supplies."""

    async def ask(self, question: Question) -> Reply:
        """Return the provider's reply to one attempt."""
        ...

    def failure(self, error: Exception) -> Failure | None:
        """Return what an error of the provider's library means, or None when it is not one."""
        ...


async def extract_object(
    wire: JsonWire, question: Question, timeout_s: float, retries: Retries, on_usage: OnUsage | None
) -> dict[str, Any]:
    """Return the object that a model extracts, as `StructuredModel.extract` describes it.

    Args:
        wire: the adapter.
        question: the first attempt's question.
        timeout_s: the most time for one attempt.
        retries: the adapter's policy and budget.
        on_usage: called once for each attempt.

    Raises:
        MeshError: as listed in `mesh.models.protocols`.
    """

    async def once(attempt: int) -> dict[str, Any]:
        asked = question if attempt == 1 else _warmer(question)
        reply: Reply | None = None
        failure: Failure | None = None
        try:
            reply = await bounded(wire.ask(asked), timeout_s, wire.failure)
        except Failure as caught:
            failure = caught
            raise
        finally:
            if on_usage is not None:
                on_usage(_usage(question, reply, failure, attempt))
        return _read(reply, question.schema)

    return await retries.call(once)


def _warmer(question: Question) -> Question:
    return Question(question.instructions, question.prompt, question.schema, SECOND_TEMPERATURE)


def _read(reply: Reply, schema: Mapping[str, Any]) -> dict[str, Any]:
    if reply.ending == "refused":
        raise refused()
    try:
        return read_object(reply.text, schema).value
    except Unavailable as error:
        raise Failure(error, retryable=True) from None


def _usage(question: Question, reply: Reply | None, failure: Failure | None, attempt: int) -> UsageReport:
    if reply is not None and reply.tokens is not None:
        tokens = reply.tokens
        return UsageReport(tokens.input, tokens.output, True, tokens.cached_input, attempt)
    if failure is not None and not failure.billed:
        return UsageReport(0, 0, measured=False, attempt=attempt)
    request = ModelRequest(question.instructions, [ModelMessage("user", question.prompt)])
    return estimated_usage(request, reply.text if reply else "", attempt=attempt)
