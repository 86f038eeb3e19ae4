"""Gemini through google-genai: streamed answers, JSON with a response schema, embeddings.

The library's own retries and time limits stay off: `mesh.models.streaming` and `mesh.models.attempts` decide both,
since the library does not obey RetryInfo and its time limit covers a whole stream. Importing this module takes more
than a second and needs the extra `gemini`, so only `mesh.models.factory` imports it, when a setting asks for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import httpx2
from google import genai
from google.genai import errors, types

from mesh.kernel.errors import FailedPrecondition, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure, Retries, RetryPolicy, bounded
from mesh.models.faults import Provider, output_invalid, parse_seconds
from mesh.models.protocols import (
    EMBEDDING_DIMENSIONS,
    EmbeddingSpace,
    ModelEvent,
    ModelRequest,
    OnUsage,
    Vector,
    Vectors,
)
from mesh.models.streaming import Chunk, Ending, StreamLimits, Tokens, stream_answer
from mesh.models.structured import Question, Reply, extract_object
from mesh.models.vectors import batches, checked_texts, joined, stored_vectors

PROVIDER = "gemini"

_REFUSALS = frozenset({
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK",
})  # fmt: skip
_ENDINGS: Mapping[str, Ending] = {"STOP": "stop", "MAX_TOKENS": "length"}
_UNKNOWN_STATUS = 500
_GOOGLE = "https://generativelanguage.googleapis.com/"
_OPENED: ContextVar[list[httpx2.Response] | None] = ContextVar("opened_responses", default=None)
_ODD_REPLY = (ValueError, TypeError, KeyError, AttributeError, IndexError)
"""What the library raises on a reply whose JSON or shape it does not expect."""


@dataclass(frozen=True, slots=True)
class GeminiOptions:
    """How the adapter reaches Gemini.

    Args:
        api_key: the key; never shown.
        base_url: another endpoint than Google's, without a path; empty for Google's.
        api_version: path segment such as `v1beta`; empty for the library's default.
        limits: how long a stream may be silent.
        request_timeout_s: the most time for one call that is not streamed.
        retry: how failed attempts are repeated.
    """

    api_key: str = field(repr=False)
    base_url: str = ""
    api_version: str = ""
    limits: StreamLimits = field(default_factory=StreamLimits)
    request_timeout_s: float = 60.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class GeminiModel:
    """A Gemini model: a `LanguageModel` and a `StructuredModel`."""

    provider = PROVIDER

    def __init__(self, name: str, options: GeminiOptions) -> None:
        self.name = name
        self._options = options
        self._http = _http()
        self._client = _client(options, self._http)
        self._errors = Provider(PROVIDER, (options.api_key,))
        self._retries = Retries(options.retry)

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
        stream = await self._client.aio.models.generate_content_stream(
            model=self.name, contents=_contents(request), config=_config(request)
        )
        responses = cast("AsyncGenerator[types.GenerateContentResponse, None]", stream)
        opened: list[httpx2.Response] = []
        async with AsyncExitStack() as cleanup:
            cleanup.push_async_callback(_close_all, opened)
            await cleanup.enter_async_context(aclosing(responses))
            first = await _first(responses, opened)
            if first is None:
                return
            yield _chunk(first)
            async for response in responses:
                yield _chunk(response)

    async def ask(self, question: Question) -> Reply:
        """Return the reply to one question."""
        response = await self._client.aio.models.generate_content(
            model=self.name,
            contents=[types.Content(role="user", parts=[types.Part(text=question.prompt)])],
            config=types.GenerateContentConfig(
                system_instruction=question.instructions or None,
                temperature=question.temperature,
                response_mime_type="application/json",
                response_json_schema=dict(question.schema),
            ),
        )
        return Reply(_text(response), _tokens(response), _ending(response))

    def failure(self, error: Exception) -> Failure | None:
        """Return what an error of google-genai means."""
        return _failure(self._errors, error)

    async def close(self) -> None:
        """Release connections."""
        await self._http.aclose()


class GeminiEmbedder:
    """A Gemini embedding model, asked for 768 dimensions with a task type. Source: seed S5."""

    def __init__(self, name: str, options: GeminiOptions) -> None:
        self.space = EmbeddingSpace(PROVIDER, name)
        self._options = options
        self._http = _http()
        self._client = _client(options, self._http)
        self._errors = Provider(PROVIDER, (options.api_key,), Reason.EMBEDDER_UNAVAILABLE)
        self._retries = Retries(options.retry)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text; see `Embedder.embed_documents`."""
        parts = [await self._embed(batch, "RETRIEVAL_DOCUMENT") for batch in batches(checked_texts(texts))]
        return joined(parts)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question; see `Embedder.embed_query`."""
        vector: Vector = (await self._embed(checked_texts([text]), "RETRIEVAL_QUERY"))[0]
        return vector

    async def close(self) -> None:
        """Release connections."""
        await self._http.aclose()

    async def _embed(self, texts: list[str], task: str) -> Vectors:
        silent = Unavailable(Reason.EMBEDDER_UNAVAILABLE, "the embedding provider did not answer in time")

        async def once(_attempt: int) -> Vectors:
            call = self._client.aio.models.embed_content(
                model=self.space.model,
                contents=cast("types.ContentListUnion", texts),
                config=types.EmbedContentConfig(task_type=task, output_dimensionality=EMBEDDING_DIMENSIONS),
            )
            response = await bounded(call, self._options.request_timeout_s, self._explain, silent)
            rows = [embedding.values or [] for embedding in response.embeddings or []]
            return stored_vectors(rows, count=len(texts), size=EMBEDDING_DIMENSIONS)

        return await self._retries.call(once)

    def _explain(self, error: Exception) -> Failure | None:
        return _failure(self._errors, error)


def _http() -> httpx2.AsyncClient:
    """Return the connections of one adapter. Time limits are set around calls, not on sockets."""
    return httpx2.AsyncClient(timeout=None, event_hooks={"response": [_note_response]})


def _client(options: GeminiOptions, http: httpx2.AsyncClient) -> genai.Client:
    """Return a client that takes neither key nor endpoint from the environment."""
    http_options = types.HttpOptions(
        base_url=options.base_url or _GOOGLE, api_version=options.api_version or None, httpx_async_client=http
    )
    return genai.Client(vertexai=False, api_key=options.api_key, http_options=http_options)


async def _note_response(response: httpx2.Response) -> None:
    """Remember the response of a stream that is being opened."""
    opened = _OPENED.get()
    if opened is not None:
        opened.append(response)


async def _first(
    responses: AsyncGenerator[types.GenerateContentResponse, None], opened: list[httpx2.Response]
) -> types.GenerateContentResponse | None:
    """Return the first message, and put the HTTP response that it came from into `opened`."""
    token = _OPENED.set(opened)
    try:
        return await anext(responses, None)
    finally:
        _OPENED.reset(token)


async def _close_all(opened: list[httpx2.Response]) -> None:
    """Close the responses of a stream: the library leaves that to the garbage collector when its reader goes away."""
    for response in opened:
        await response.aclose()


def _chunk(response: types.GenerateContentResponse) -> Chunk:
    return Chunk(_text(response), _tokens(response), _ending(response))


def _contents(request: ModelRequest) -> types.ContentListUnion:
    roles = {"user": "user", "assistant": "model"}
    contents = [types.Content(role=roles[m.role], parts=[types.Part(text=m.text)]) for m in request.messages]
    return cast("types.ContentListUnion", contents)


def _config(request: ModelRequest) -> types.GenerateContentConfig:
    return types.GenerateContentConfig(
        system_instruction=request.instructions or None,
        temperature=request.temperature,
        max_output_tokens=request.max_output_tokens,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )


def _text(response: types.GenerateContentResponse) -> str:
    """Return the answer's text in a message, without the model's thoughts."""
    candidates = response.candidates or []
    content = candidates[0].content if candidates else None
    parts = (content.parts or []) if content else []
    return "".join(part.text for part in parts if part.text and not part.thought)


def _tokens(response: types.GenerateContentResponse) -> Tokens | None:
    usage = response.usage_metadata
    if usage is None or usage.prompt_token_count is None:
        return None
    output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return Tokens(usage.prompt_token_count, output, usage.cached_content_token_count or 0)


def _ending(response: types.GenerateContentResponse) -> Ending | None:
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return "refused"
    reason = response.candidates[0].finish_reason if response.candidates else None
    if reason is None or reason is types.FinishReason.FINISH_REASON_UNSPECIFIED:
        return None
    return "refused" if reason.value in _REFUSALS else _ENDINGS.get(reason.value, "other")


def _failure(provider: Provider, error: Exception) -> Failure | None:
    if isinstance(error, errors.APIError):
        return provider.caused(_api_failure(provider, error), error)
    if isinstance(error, httpx2.TransportError):
        billed = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        return provider.caused(provider.unreachable_failure(billed=billed), error)
    if isinstance(error, _ODD_REPLY):
        return provider.caused(output_invalid("the model provider's reply cannot be read"), error)
    return None


def _api_failure(provider: Provider, error: errors.APIError) -> Failure:
    details = list(_details(error.details))
    if any(detail.get("reason") in ("API_KEY_INVALID", "API_KEY_EXPIRED") for detail in details):
        message = "the model provider refused the configured key"
        return Failure(FailedPrecondition(Reason.CONFIGURATION_INVALID, message), False, billed=False)
    code: object = error.code  # what a body in the stream claims, not checked by the library
    status = code if isinstance(code, int) else _UNKNOWN_STATUS
    return provider.status_failure(status, _retry_after(error, details))


def _details(body: Any) -> Iterable[Mapping[str, Any]]:
    """Yield the google.rpc details of an error body. Source: AIP-193."""
    error = body.get("error", body) if isinstance(body, Mapping) else {}
    found = error.get("details", []) if isinstance(error, Mapping) else []
    return (detail for detail in found if isinstance(detail, Mapping)) if isinstance(found, list) else ()


def _retry_after(error: errors.APIError, details: list[Mapping[str, Any]]) -> timedelta | None:
    """Return the wait in RetryInfo (`"17s"`), or in the header Retry-After (seconds)."""
    for detail in details:
        if str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return parse_seconds(str(detail.get("retryDelay", "")).removesuffix("s"))
    headers = getattr(error.response, "headers", None)
    return parse_seconds(headers.get("retry-after", "")) if headers is not None else None
