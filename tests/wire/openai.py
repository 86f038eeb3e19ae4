"""A fake server with OpenAI's API: `/v1/chat/completions` (streamed or not) and `/v1/embeddings`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.wire.conduct import count_tokens, pieces
from tests.wire.server import Asked, FakeProvider
from tests.wire.steps import Fail, Refuse, Say, Step, Vectors


class FakeOpenAI(FakeProvider):
    """Speaks OpenAI's API as `openai` uses it.

    Attributes:
        embedding_size: numbers in a vector when the request asks for no size.
        formats: the structured output forms that it understands; others are answered with 400.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding_size = 384
        self.formats = {"json_schema", "json_object"}

    @property
    def base_url(self) -> str:
        """What a client is configured with, `/v1` included."""
        return f"{super().base_url}/v1"

    def reset(self) -> None:
        super().reset()
        self.embedding_size = 384
        self.formats = {"json_schema", "json_object"}

    def error(self, fail: Fail) -> Response:
        headers = {} if fail.retry_after_s is None else {"retry-after-ms": f"{fail.retry_after_s * 1000:g}"}
        return JSONResponse(_error(fail), fail.status, headers)

    def respond(self, asked: Asked, step: Step | None) -> Response:
        if asked.path.endswith("/embeddings"):
            return JSONResponse(self._embeddings(asked.body, step))
        wanted = asked.body.get("response_format", {}).get("type", "")
        if wanted and wanted not in self.formats:
            return self.error(Fail(400, text="unknown response_format"))
        say = _refusal() if isinstance(step, Refuse) else step if isinstance(step, Say) else self._say(asked.body)
        if asked.body.get("stream"):
            with_usage = asked.body.get("stream_options", {}).get("include_usage", False)
            return self.stream(self._messages(say, with_usage=with_usage))
        return JSONResponse(_completion(say))

    def _say(self, body: Any) -> Say:
        texts = [message["content"] for message in body["messages"]]
        schema = _schema(body)
        prompt = "\n".join(texts)
        text = self.conduct.extraction(prompt, schema) if schema else self.conduct.answer(prompt, texts[-1])
        return Say(pieces(text), tokens=(count_tokens(texts), count_tokens([text])))

    async def _messages(self, say: Say, *, with_usage: bool) -> AsyncIterator[bytes]:
        yield _event(_delta({"role": "assistant", "content": ""}))
        for index, piece in enumerate(say.pieces):
            await self.pace(say, index)
            if say.garble_before == index:
                yield b"data: {this is no json\n\n"
            if say.fail_before == index:
                yield _event(_error(Fail(503)))
                return
            yield _event(_delta({"content": piece}))
        await self.pace(say, len(say.pieces))
        finish = "stop" if say.finish is None else say.finish
        if finish:
            yield _event(_delta({}, finish))
        await self.pace(say, len(say.pieces) + 1)
        if with_usage and say.tokens is not None:
            yield _event(_delta(None) | {"usage": _usage(say.tokens)})
        if finish:
            yield b"data: [DONE]\n\n"

    def _embeddings(self, body: Any, step: Step | None) -> dict[str, Any]:
        texts = body["input"]
        if isinstance(step, Vectors):
            count = len(texts) if step.count is None else step.count
            rows: list[list[Any]] = [[step.value] * step.size for _ in range(count)]
        else:
            size = body.get("dimensions", self.embedding_size)
            rows = [list(self.conduct.vector(text, size)) for text in texts]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        usage = {"prompt_tokens": count_tokens(texts), "total_tokens": count_tokens(texts)}
        return {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage}


def _schema(body: Any) -> dict[str, Any]:
    """Return the schema that an answer is asked to follow: in `response_format`, or in the system message."""
    wanted = body.get("response_format", {})
    if wanted.get("type") == "json_schema":
        found: dict[str, Any] = wanted["json_schema"]["schema"]
        return found
    system = body["messages"][0]["content"]
    _, marker, schema = system.partition("JSON Schema and nothing else:\n")
    return dict(json.loads(schema)) if marker else {}


def _refusal() -> Say:
    return Say((), finish="content_filter", tokens=(9, 0))


def _usage(tokens: tuple[int, int]) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "total_tokens": sum(tokens),
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def _delta(delta: dict[str, Any] | None, finish: str | None = None) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": choices}


def _completion(say: Say) -> dict[str, Any]:
    message = {"role": "assistant", "content": "".join(say.pieces)}
    choice = {"index": 0, "message": message, "finish_reason": say.finish or "stop"}
    body: dict[str, Any] = {"id": "c1", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice]}
    if say.tokens is not None:
        body["usage"] = _usage(say.tokens)
    return body


def _event(message: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


def _error(fail: Fail) -> dict[str, Any]:
    return {"error": {"message": fail.text, "type": "error", "code": fail.reason or None, "param": None}}
