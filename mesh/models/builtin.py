"""The grounded responder: an answer without a model, from what was recalled and nothing else.

It acknowledges what is told, answers questions by stating recalled facts and quoting recalled words with their date,
and says so when it knows nothing, or when memory could not be asked. It needs no key and no network, is labelled
`builtin` wherever it answers, and never pretends to be a model. Recalled text is data: it is stated or quoted, whatever
it asks for.

The rules are plain and bounded: a message is read up to 8,000 characters, at most three facts and two quotations are
said (eight facts when asked for all), and no answer is longer than `MAX_ANSWER_CHARS`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator

from mesh.models.phrasing import selection
from mesh.models.phrasing.days import Calendar
from mesh.models.phrasing.english import English
from mesh.models.phrasing.message import Act, Message, understood
from mesh.models.phrasing.phrases import Phrases
from mesh.models.phrasing.ukrainian import Ukrainian
from mesh.models.phrasing.wording import shortened
from mesh.models.protocols import Finish, ModelEvent, ModelRequest, TextDelta
from mesh.models.usage import BYTES_PER_TOKEN, estimated_usage

MAX_ANSWER_CHARS = 2_000
DELTA_CHARS = 48
"""Characters of one delta, about: the stream moves, and a usual answer takes a few of them."""

_OWN_NAME = re.compile(r"\b[Yy]ou are ([A-Z][\w'-]{1,30})\b")
_PIECE = re.compile(rf".{{1,{DELTA_CHARS}}}(?:\s+|$)|.{{1,{DELTA_CHARS}}}", re.DOTALL)


class GroundedResponder:
    """Answers from what was recalled."""

    name = "builtin"
    provider = "builtin"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the answer in a few deltas, its estimated usage (`mesh.models.usage`), and the finish.

        Args:
            request: only its messages, recalled values, zone and time are used, and the assistant's name in its
                instructions; the temperature changes nothing.
        """
        answer = compose(request)
        kept = _within_tokens(answer, request.max_output_tokens)
        for piece in _pieces(kept):
            yield TextDelta(piece)
        yield estimated_usage(request, kept)
        yield Finish("stop" if kept == answer else "length")

    async def close(self) -> None:
        """Release nothing: there is nothing to release."""


def compose(request: ModelRequest) -> str:
    """Return the whole answer to a request: never empty, at most `MAX_ANSWER_CHARS`."""
    message = understood(request.messages[-1].text if request.messages else "")
    return shortened(_reply(request, message), MAX_ANSWER_CHARS)


def _reply(request: ModelRequest, message: Message) -> str:
    calendar = Calendar(request.zone, request.now)
    say: Phrases = Ukrainian(calendar) if message.language == "uk" else English(calendar)
    replies: dict[Act, Callable[[], str]] = {
        "greeting": lambda: say.greeting(_known_name(request)),
        "thanks": say.thanks,
        "farewell": say.farewell,
        "assistant": lambda: say.assistant(_own_name(request)),
        "summary": lambda: _summarised(request, say),
        "question": lambda: _answered(request, message, say),
        "task": lambda: _answered(request, message, say),
        "other": say.kept,
    }
    return replies.get(message.act, lambda: say.noted(message.statements))()


def _summarised(request: ModelRequest, say: Phrases) -> str:
    found = selection.summary(request)
    if found.empty:
        return say.memory_away() if request.recall_failed else say.nothing_about_user()
    return say.summary(found.facts) if found.facts else say.answer(found)


def _answered(request: ModelRequest, message: Message, say: Phrases) -> str:
    """Acknowledge what was told beside the question, then answer it; a task is answered by what bears on it."""
    asked = message.question or message.text
    found = selection.select(request, asked, [_own_name(request)])
    told = [say.noted(message.statements)] if message.statements else []
    if message.act == "task":
        return " ".join([*told, say.cannot(), *([] if found.empty else [say.answer(found)])])
    nothing = say.memory_away if request.recall_failed else say.nothing
    return " ".join([*told, nothing() if found.empty else say.answer(found)])


def _own_name(request: ModelRequest) -> str:
    match = _OWN_NAME.search(request.instructions[:2_000])
    return match[1] if match else ""


def _known_name(request: ModelRequest) -> str:
    names = (
        item.value
        for item in request.recalled
        if item.kind == "fact" and item.subject in ("", "user") and item.key == "name"
    )
    return shortened(next(names, ""), 40)


def _within_tokens(answer: str, limit: int | None) -> str:
    """Return as much of an answer as a token bound allows, by the same estimate that the usage report makes."""
    if limit is None:
        return answer
    raw = answer.encode("utf-8", "replace")[: max(limit, 1) * BYTES_PER_TOKEN]
    return raw.decode("utf-8", "ignore")


def _pieces(answer: str) -> Iterator[str]:
    return (match[0] for match in _PIECE.finditer(answer))
