"""Any server with OpenAI's chat and embeddings API: vLLM, Ollama, llama.cpp, OpenAI itself.

The `openai` library's own retries and time limits stay off: `mesh.models.streaming` and `mesh.models.attempts` decide
both, the same for every provider. Needs the extra `openai`; only `mesh.models.factory` imports this module.

Servers differ in what they understand of structured output, so extraction knows three forms, from strict to plain, and
keeps to the first that the server accepts.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta

from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure, Retries, RetryPolicy, bounded
from mesh.models.faults import Provider, output_invalid, parse_seconds, rate_limited, refused
from mesh.models.protocols import EmbeddingSpace, ModelEvent, ModelRequest, OnUsage, Vector, Vectors
from mesh.models.streaming import Chunk, Ending, StreamLimits, Tokens, stream_answer
from mesh.models.structured import Question, Reply, extract_object
from mesh.models.vectors import batches, checked_texts, joined, stored_vectors

PROVIDER = "openai"

_ENDINGS: Mapping[str, Ending] = {"stop": "stop", "length": "length", "content_filter": "refused"}
_FORM_REFUSED = frozenset({400, 415, 422, 501})
"""What servers answer to a parameter that they do not know."""

_UNKNOWN_STATUS = 500
_OPENAI_HOST = "api.openai.com"
_ODD_REPLY = (openai.APIResponseValidationError, ValueError, TypeError, KeyError, AttributeError, IndexError)
"""What the library raises on a reply whose JSON or shape it does not expect."""


@dataclass(frozen=True, slots=True)
class OpenAIOptions:
    """How the adapter reaches a server.

    Args:
        base_url: up to and including `/v1`; empty for OpenAI's own.
        api_key: the key; never shown; empty for servers that ask for none.
        limits: how long a stream may be silent.
        request_timeout_s: the most time for one call that is not streamed.
        retry: how failed attempts are repeated.
    """

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    limits: StreamLimits = field(default_factory=StreamLimits)
    request_timeout_s: float = 60.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class OpenAIModel:
    """A chat model: a `LanguageModel` and a `StructuredModel`."""

    provider = PROVIDER

    def __init__(self, name: str, options: OpenAIOptions) -> None:
        self.name = name
        self._options = options
        self._client = _client(options)
        self._errors = Provider(PROVIDER, (options.api_key,))
        self._retries = Retries(options.retry)
        self._form = 0

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Generate one answer; see `LanguageModel.stream`."""
        return stream_answer(self, request, self._options.limits, self._retries)

    async def extract(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        *,
        instructions: str = "",
        on_usage: OnUsage | None = None,
    ) -> dict[str, Any]:
        """Return a JSON object that matches a schema; see `StructuredModel.extract`."""
        question = Question(instructions, prompt, schema)
        return await extract_object(self, question, self._options.request_timeout_s, self._retries, on_usage)

    async def open(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Send a request and yield the messages of its stream."""
        body = {
            "model": self.name,
            "messages": _messages(request),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": request.temperature,
            self._token_bound(): request.max_output_tokens,
        }
        stream = cast("AsyncStream[ChatCompletionChunk]", await self._complete(body))
        async with stream:
            async for message in stream:
                yield _chunk(message)

    async def ask(self, question: Question) -> Reply:
        """Return the reply to one question, in the strictest form that the server accepts."""
        form = self._form
        while True:
            try:
                completion = await self._complete(_FORMS[form](self.name, question))
            except openai.APIStatusError as error:
                if error.status_code not in _FORM_REFUSED or form + 1 == len(_FORMS) or _is_refusal(error):
                    raise
                form += 1
            else:
                self._form = form
                return _reply(cast("ChatCompletion", completion))

    def failure(self, error: Exception) -> Failure | None:
        """Return what an error of the library means."""
        return _failure(self._errors, error)

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()

    async def _complete(self, body: Mapping[str, Any]) -> Any:
        return await self._client.chat.completions.create(
            **{name: value for name, value in body.items() if value is not None}
        )

    def _token_bound(self) -> str:
        """Return the name of the output bound: OpenAI's newer models refuse the old one, other servers the new one."""
        return "max_completion_tokens" if self._client.base_url.host == _OPENAI_HOST else "max_tokens"


class OpenAIEmbedder:
    """An embedding model behind OpenAI's API. Vectors smaller than stored ones are padded, larger ones refused.

    Args:
        name: the model.
        options: how to reach the server.
        dimensions: size to ask for, for models that can shorten their vectors; None asks for none.
    """

    def __init__(self, name: str, options: OpenAIOptions, dimensions: int | None = None) -> None:
        self.space = EmbeddingSpace(PROVIDER, name if dimensions is None else f"{name}:{dimensions}")
        self._name = name
        self._dimensions = dimensions
        self._options = options
        self._client = _client(options)
        self._errors = Provider(PROVIDER, (options.api_key,), Reason.EMBEDDER_UNAVAILABLE)
        self._retries = Retries(options.retry)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text; see `Embedder.embed_documents`."""
        return joined([await self._embed(batch) for batch in batches(checked_texts(texts))])

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question; see `Embedder.embed_query`."""
        vector: Vector = (await self._embed(checked_texts([text])))[0]
        return vector

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()

    async def _embed(self, texts: list[str]) -> Vectors:
        silent = Unavailable(Reason.EMBEDDER_UNAVAILABLE, "the embedding provider did not answer in time")
        size = openai.omit if self._dimensions is None else self._dimensions

        async def once(_attempt: int) -> Vectors:
            call = self._client.embeddings.create(
                model=self._name, input=texts, encoding_format="float", dimensions=size
            )
            response = await bounded(call, self._options.request_timeout_s, self._explain, silent)
            found = {item.index: item.embedding for item in response.data or []}
            if sorted(found) != list(range(len(texts))) or len(response.data) != len(texts):
                raise output_invalid("the embedding provider answered with a wrong number of vectors")
            rows = [found[index] for index in range(len(texts))]
            return stored_vectors(rows, count=len(texts), size=self._dimensions)

        return await self._retries.call(once)

    def _explain(self, error: Exception) -> Failure | None:
        return _failure(self._errors, error)


def _client(options: OpenAIOptions) -> AsyncOpenAI:
    return AsyncOpenAI(
        api_key=options.api_key or "none",
        base_url=options.base_url or f"https://{_OPENAI_HOST}/v1",
        timeout=None,
        max_retries=0,
    )


def _messages(request: ModelRequest) -> list[dict[str, str]]:
    system = [{"role": "system", "content": request.instructions}] if request.instructions else []
    return system + [{"role": message.role, "content": message.text} for message in request.messages]


def _question_messages(question: Question, *, with_schema: bool) -> list[dict[str, str]]:
    instructions = question.instructions
    if with_schema:
        schema = json.dumps(question.schema, ensure_ascii=False)
        instructions = f"{instructions}\n\nAnswer with one JSON object of this JSON Schema and nothing else:\n{schema}"
    system = [{"role": "system", "content": instructions.strip()}] if instructions.strip() else []
    return [*system, {"role": "user", "content": question.prompt}]


def _schema_form(model: str, question: Question) -> dict[str, Any]:
    schema = {"name": "answer", "schema": dict(question.schema), "strict": _is_strict(question.schema)}
    return {
        "model": model,
        "messages": _question_messages(question, with_schema=False),
        "temperature": question.temperature,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }


def _object_form(model: str, question: Question) -> dict[str, Any]:
    return {
        "model": model,
        "messages": _question_messages(question, with_schema=True),
        "temperature": question.temperature,
        "response_format": {"type": "json_object"},
    }


def _plain_form(model: str, question: Question) -> dict[str, Any]:
    return {"model": model, "messages": _question_messages(question, with_schema=True)}


_FORMS = (_schema_form, _object_form, _plain_form)


def _is_strict(schema: Any) -> bool:
    """Tell whether a schema is one that strict mode accepts: every object closed, every member required.

    Source: OpenAI, 'Structured model outputs', supported schemas.
    """
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(properties)
        return closed and all(_is_strict(of) for of in properties.values())
    return _is_strict(schema.get("items"))


def _chunk(message: ChatCompletionChunk) -> Chunk:
    tokens = _tokens(message.usage)
    if not message.choices:
        return Chunk("", tokens)
    choice = message.choices[0]
    reason = choice.finish_reason
    ending: Ending | None = _ENDINGS.get(reason, "other") if reason else None
    delta: ChoiceDelta | None = choice.delta  # some servers leave it out
    if delta is None:
        return Chunk("", tokens, ending)
    return Chunk("", tokens, "refused") if delta.refusal else Chunk(delta.content or "", tokens, ending)


def _reply(completion: ChatCompletion) -> Reply:
    choice = completion.choices[0]
    if choice.message.refusal:
        return Reply("", _tokens(completion.usage), "refused")
    ending = _ENDINGS.get(choice.finish_reason, "other")
    return Reply(choice.message.content or "", _tokens(completion.usage), ending)


def _tokens(usage: CompletionUsage | None) -> Tokens | None:
    if usage is None:
        return None
    details = usage.prompt_tokens_details
    return Tokens(usage.prompt_tokens, usage.completion_tokens, (details.cached_tokens or 0) if details else 0)


def _failure(provider: Provider, error: Exception) -> Failure | None:
    if isinstance(error, openai.APIStatusError):
        return provider.caused(_status_failure(provider, error), error)
    if isinstance(error, openai.APIConnectionError):
        billed = not isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        return provider.caused(provider.unreachable_failure(billed=billed), error)
    if isinstance(error, httpx2.TransportError):
        return provider.caused(provider.unreachable_failure(billed=True), error)
    if isinstance(error, _ODD_REPLY):
        return provider.caused(output_invalid("the model provider's reply cannot be read"), error)
    if isinstance(error, openai.APIError):
        return provider.caused(provider.status_failure(_UNKNOWN_STATUS, None), error)
    return None


def _status_failure(provider: Provider, error: openai.APIStatusError) -> Failure:
    if _is_refusal(error):
        return refused()
    wait = _retry_after(error.response.headers)
    if error.code == "insufficient_quota":
        return rate_limited(wait, {"provider": provider.name}, retryable=False)
    return provider.status_failure(error.status_code, wait)


def _is_refusal(error: openai.APIStatusError) -> bool:
    return error.code in ("content_filter", "content_policy_violation")


def _retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """Return the wait in `retry-after-ms` or `retry-after` (seconds); a date is not read."""
    milliseconds = parse_seconds(headers.get("retry-after-ms", ""))
    return milliseconds / 1000 if milliseconds else parse_seconds(headers.get("retry-after", ""))
