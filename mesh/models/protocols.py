"""What the servers know of a model: three protocols and the values that cross them.

The protocols are small on purpose: everything a provider does in its own way (wire, retries, time limits, safety
verdicts) ends inside its adapter, and only the errors named here leave it. This module imports no provider library.

Errors of every adapter, all of `mesh.kernel.errors`:
    Unavailable(MODEL_UNAVAILABLE): the provider cannot be reached or answers 5xx; retryable.
    Unavailable(MODEL_OUTPUT_INVALID): it answered what was not asked for (no JSON, wrong vector count); retryable.
    Unavailable(EMBEDDER_UNAVAILABLE): the same as MODEL_UNAVAILABLE, for an embedder.
    ResourceExhausted(MODEL_RATE_LIMITED): the provider's quota; `details.retry_after` is set.
    ResourceExhausted(OVERLOADED): our own bound in front of a local model; `details.retry_after` is set.
    DeadlineExceeded(MODEL_STALLED): no first token, or no next one, within the configured bound.
    FailedPrecondition(MODEL_REFUSED): a safety verdict of the provider; retrying does not help.
    FailedPrecondition(CONFIGURATION_INVALID): a missing extra, key, or model name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

EMBEDDING_DIMENSIONS = 768
"""The size of a stored vector; smaller ones are zero-padded, which leaves the cosine as it was."""

Vector: TypeAlias = NDArray[np.float32]
"""One vector `[768] float32`, of length 1 (L2)."""

Vectors: TypeAlias = NDArray[np.float32]
"""Rows `[n, 768] float32`, each of length 1 (L2)."""


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message of the conversation, as the model is shown it.

    Args:
        role: `user` or `assistant`; instructions are not a message.
        text: plain text, not empty.
    """

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """One thing that memory found for this turn.

    Args:
        kind: what it is; a fact has `key`, `value` and `subject`, the others have their words in `text`.
        id: the resource's UUID.
        text: the words as they were stored; for a fact, the sentence that states it.
        key: topic key of a fact, such as `home_city`; empty otherwise.
        value: value of a fact; empty otherwise.
        subject: whom the fact is about; empty otherwise.
        at: when it was said, UTC; None when unknown.
        source: which collection it came from, such as `conversation`, `note` or a document's title.
        speaker: who said it; empty when unknown.
        score: fused recall score; only comparable within one recall.
    """

    kind: Literal["fact", "chunk", "document"]
    id: str
    text: str
    key: str = ""
    value: str = ""
    subject: str = ""
    at: datetime | None = None
    source: str = ""
    speaker: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What one answer is generated from.

    Args:
        instructions: the system instruction; may be empty.
        messages: oldest first; the last one is the user's new message and, for a provider's model, already contains the
            recalled text, fenced and labelled.
        recalled: the same recalled things as values, for the built-in responder; providers' adapters ignore them.
        recall_failed: True when memory could not be asked, so that an empty `recalled` does not mean that nothing is
            known.
        temperature: 0 to 2; None leaves the provider's default.
        max_output_tokens: at least 1; None leaves the provider's default.
        locale: BCP 47 tag of the user, such as `de-DE`; empty when unknown.
        zone: IANA time zone of the user, such as `Europe/Berlin`; empty when unknown.
        now: the instant of the turn, UTC; None when the answer does not depend on it.
    """

    instructions: str
    messages: Sequence[ModelMessage]
    recalled: Sequence[RecalledItem] = ()
    recall_failed: bool = False
    temperature: float | None = None
    max_output_tokens: int | None = None
    locale: str = ""
    zone: str = ""
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer; the answer is the concatenation of all of them. Never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What one attempt at the provider cost. There is exactly one for each attempt, whether it succeeded or not.

    Args:
        input_tokens: tokens read, cached ones included.
        output_tokens: tokens written, hidden reasoning included.
        measured: True when the provider reported the numbers, False for an estimate (`mesh.models.usage`).
        cached_input_tokens: the part of `input_tokens` that the provider served from its cache.
        attempt: 1 for the first attempt of a call.
    """

    input_tokens: int
    output_tokens: int
    measured: bool
    cached_input_tokens: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is complete; nothing follows.

    Args:
        reason: `stop` (the model ended it), `length` (a token bound cut it) or `other`.
    """

    reason: Literal["stop", "length", "other"] = "stop"


ModelEvent: TypeAlias = TextDelta | UsageReport | Finish

OnUsage: TypeAlias = Callable[[UsageReport], None]


class LanguageModel(Protocol):
    """A model that answers in text."""

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""
        ...

    @property
    def provider(self) -> str:
        """`builtin`, `gemini` or `openai`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Generate one answer.

        The implementation is an async generator. A successful stream is text deltas, usage reports and, last, one
        `Finish`. A failing one yields the usage report of the attempt that failed and then raises. Closing the
        generator (`aclose`, or cancelling the task that reads it) stops the call at the provider; the reader then
        accounts for the attempt itself with `mesh.models.usage.estimated_usage`.

        Raises:
            MeshError: as listed in the module docstring.
        """
        ...

    async def close(self) -> None:
        """Release connections and threads. Safe to call twice."""
        ...


class StructuredModel(Protocol):
    """A model that answers with JSON of a given schema."""

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""
        ...

    @property
    def provider(self) -> str:
        """`gemini` or `openai`."""
        ...

    async def extract(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        *,
        instructions: str = "",
        on_usage: OnUsage | None = None,
    ) -> dict[str, Any]:
        """Return a JSON object that matches a schema.

        Args:
            prompt: what to read, and what to extract from it.
            schema: a JSON Schema of type object, without `$ref`.
            instructions: the system instruction; may be empty.
            on_usage: called once for each attempt, before the call returns or raises.

        Raises:
            MeshError: as listed in the module docstring; MODEL_OUTPUT_INVALID when the reply cannot be read as that
                object. A broken reply is never an empty success.
        """
        ...

    async def close(self) -> None:
        """Release connections. Safe to call twice."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Which vectors may be compared with each other: those of equal spaces only (G8).

    Args:
        provider: `builtin`, `gemini` or `openai`.
        model: the model's name, with a revision when the same name can give other vectors.
        dimensions: size of the stored vectors.
    """

    provider: str
    model: str
    dimensions: int = EMBEDDING_DIMENSIONS

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}@{self.dimensions}"


class Embedder(Protocol):
    """A model that turns texts into vectors of one space."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space of every vector that it returns."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text, in order: `[n, 768] float32`, L2-normalised; `[0, 768]` for no texts.

        Raises:
            MeshError: as listed in the module docstring; never fewer vectors than texts.
        """
        ...

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question: `[768] float32`, L2-normalised; goes ahead of documents.

        Raises:
            MeshError: as listed in the module docstring.
        """
        ...

    async def close(self) -> None:
        """Release connections and threads. Safe to call twice."""
        ...
