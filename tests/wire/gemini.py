"""A fake Gemini: `:generateContent`, `:streamGenerateContent?alt=sse`, `:batchEmbedContents` and `:countTokens`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.wire.conduct import count_tokens, pieces
from tests.wire.server import Asked, FakeProvider
from tests.wire.steps import Fail, Refuse, Say, Step, Vectors


class FakeGemini(FakeProvider):
    """Speaks the Gemini API as google-genai 3 uses it."""

    def error(self, fail: Fail) -> Response:
        return JSONResponse(_error(fail), fail.status)

    def respond(self, asked: Asked, step: Step | None) -> Response:
        verb = asked.path.partition("?")[0].rpartition(":")[2]
        if verb == "batchEmbedContents":
            return JSONResponse(self._embeddings(asked.body, step))
        if verb == "countTokens":
            return JSONResponse({"totalTokens": count_tokens([_texts(asked.body)])})
        say = step if isinstance(step, Say) else self._say(asked.body)
        if isinstance(step, Refuse):
            return self._refusal(streamed=verb == "streamGenerateContent")
        if verb == "streamGenerateContent":
            return self.stream(self._messages(say))
        return JSONResponse(_message("".join(say.pieces), say.finish or "STOP", say.tokens))

    def _say(self, body: Any) -> Say:
        prompt = _texts(body)
        config = body.get("generationConfig", {})
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        last = "\n".join(part.get("text", "") for part in body["contents"][-1]["parts"])
        text = self.conduct.extraction(prompt, schema) if schema else self.conduct.answer(prompt, last)
        return Say(pieces(text), tokens=(count_tokens([prompt]), count_tokens([text])))

    async def _messages(self, say: Say) -> AsyncIterator[bytes]:
        for index, piece in enumerate(say.pieces):
            await self.pace(say, index)
            if say.garble_before == index:
                yield b"data: {this is no json\r\n\r\n"
            if say.fail_before == index:
                yield _event(_error(Fail(503)))
                return
            last = index == len(say.pieces) - 1
            finish = ("STOP" if say.finish is None else say.finish) if last else ""
            yield _event(_message(piece, finish, say.tokens if last else None))
        await self.pace(say, len(say.pieces))

    def _refusal(self, *, streamed: bool) -> Response:
        body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": _usage((9, 0))}
        if not streamed:
            return JSONResponse(body)

        async def messages() -> AsyncIterator[bytes]:
            yield _event(body)

        return self.stream(messages())

    def _embeddings(self, body: Any, step: Step | None) -> dict[str, Any]:
        asked = body["requests"]
        if isinstance(step, Vectors):
            count = len(asked) if step.count is None else step.count
            return {"embeddings": [{"values": [step.value] * step.size} for _ in range(count)]}
        sizes = [_either(one, "outputDimensionality", "output_dimensionality") or 3072 for one in asked]
        texts = [_texts({"contents": [one["content"]]}) for one in asked]
        return {
            "embeddings": [{"values": self.conduct.vector(text, size)} for text, size in zip(texts, sizes, strict=True)]
        }


def _either(body: dict[str, Any], *names: str) -> Any:
    return next((body[name] for name in names if name in body), None)


def _texts(body: Any) -> str:
    """Return every text of a request: the system instruction and all contents."""
    contents = list(body.get("contents", []))
    instruction = _either(body, "systemInstruction", "system_instruction")
    if instruction:
        contents.insert(0, instruction)
    return "\n".join(part.get("text", "") for content in contents for part in content.get("parts", []))


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    return {
        "promptTokenCount": tokens[0],
        "candidatesTokenCount": tokens[1],
        "totalTokenCount": sum(tokens),
    }


def _message(text: str, finish: str, tokens: tuple[int, int] | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    message: dict[str, Any] = {"candidates": [candidate], "modelVersion": "fake", "responseId": "r1"}
    if tokens is not None:
        message["usageMetadata"] = _usage(tokens)
    return message


def _event(message: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\r\n\r\n"


def _error(fail: Fail) -> dict[str, Any]:
    """Return an error body. Source: AIP-193."""
    details: list[dict[str, Any]] = []
    if fail.retry_after_s is not None:
        wait = f"{fail.retry_after_s:g}s"
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait})
    if fail.reason:
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": fail.reason})
    return {"error": {"code": fail.status, "message": fail.text, "status": "ERROR", "details": details}}
