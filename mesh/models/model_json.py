"""Reads the JSON that a language model was asked for out of what it wrote (G11).

Models wrap JSON in prose and fences, think aloud before it, stop in the middle of it, or answer with something else.
The reader returns the right object or raises MODEL_OUTPUT_INVALID, which is retryable. It never turns a broken reply
into an empty success: an array of which something was lost must have kept at least one item, and two different
readings of one reply are none.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.json_shape import Fitter, Misfit, Schema
from mesh.models.lenient_json import NotJson, Parsed, parse_at

MAX_REPLY_CHARS = 400_000
"""Replies longer than this are refused unread; a model's own output bound is far below."""

_MAX_STARTS = 32
_OPENING = re.compile(r"[{\[]")
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """An object read from a reply.

    Args:
        value: fitted to the schema.
        whole: False when items were cut off or left out.
    """

    value: dict[str, Any]
    whole: bool


def read_object(reply: str, schema: Schema) -> Reading:
    """Return the object that a reply contains.

    Args:
        reply: the model's whole text.
        schema: a JSON Schema of type object (the subset of `mesh.models.json_shape`).

    Raises:
        Unavailable: MODEL_OUTPUT_INVALID, the reply does not contain exactly one such object.
    """
    if len(reply) > MAX_REPLY_CHARS:
        raise _invalid("the model's reply is too long")
    text = _THINKING.sub("", reply.replace("\x00", "").lstrip("\ufeff"))
    readings: list[Reading] = []
    for parsed, list_counts in _values(_unquoted(text)):
        reading = _fitted(parsed, schema, list_counts=list_counts)
        if reading is not None and reading not in readings:
            readings.append(reading)
    if len(readings) != 1:
        raise _invalid("the model's reply is not the JSON it was asked for")
    if not readings[0].whole:
        _log.warning("items of a model's reply were cut off or unreadable; the whole ones are kept")
    return readings[0]


def _invalid(message: str) -> Unavailable:
    return Unavailable(Reason.MODEL_OUTPUT_INVALID, message)


def _unquoted(text: str) -> str:
    """Return the text inside, when the reply is one JSON string that holds JSON."""
    stripped = text.strip()
    if not stripped.startswith('"'):
        return text
    try:
        inner = json.loads(stripped)
    except ValueError:
        return text
    return inner if isinstance(inner, str) else text


def _values(text: str) -> Iterator[tuple[Parsed, bool]]:
    """Yield the objects and arrays of a text, each with whether a bare list may stand for the object asked for.

    It may not inside something that could not be read (it could be any member of it), nor, when empty, after other
    words (prose is full of brackets).
    """
    position = 0
    broken = False
    for _ in range(_MAX_STARTS):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        start = opening.start()
        try:
            parsed = parse_at(text, start)
        except NotJson:
            position = start + 1
            broken = True
            continue
        begins = text[:start].strip().lower() in ("", "```", "```json")
        yield parsed, begins or not (broken or parsed.value == [])
        position = parsed.end


def _fitted(parsed: Parsed, schema: Schema, *, list_counts: bool) -> Reading | None:
    properties: Schema = schema.get("properties", {})
    value = _rooted(parsed.value, properties, list_counts=list_counts)
    if not isinstance(value, dict) or (properties and not properties.keys() & value.keys()):
        return None
    fitter = Fitter()
    try:
        fitted = fitter.fit(value, schema)
    except Misfit:
        return None
    if not parsed.whole and not any(isinstance(member, list) and member for member in fitted.values()):
        return None
    return Reading(fitted, parsed.whole and fitter.lost_items == 0)


def _rooted(value: Any, properties: Schema, *, list_counts: bool) -> Any:
    """Return the object asked for, taken out of a wrapper of one unknown member, or put around its bare list."""
    if isinstance(value, dict) and len(value) == 1 and not properties.keys() & value.keys():
        (inner,) = value.values()
        return _rooted(inner, properties, list_counts=list_counts) if isinstance(inner, dict | list) else value
    lists = [name for name, of in properties.items() if of.get("type") == "array"]
    if isinstance(value, list) and len(lists) == 1 and list_counts:
        return {lists[0]: value}
    return value
