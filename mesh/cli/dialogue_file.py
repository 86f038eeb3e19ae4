"""A dialogue as JSON Lines: one message a line, checked before anything is sent.

    {"source_id": "m1", "speaker": "Olena", "text": "I moved to Lviv.", "sent_time": "2026-03-02T18:40:00Z"}

`source_id`, `text` and `sent_time` are required; `speaker`, `session`, `direction` (`incoming` or `outgoing`) and
`image_caption` may be left out. A time without an offset is UTC. Names may also be written as the HTTP interface has
them (`sourceId`). Empty lines are skipped. Every error names its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mesh.cli.problems import Problem, usage_problem

REQUIRED = ("source_id", "text", "sent_time")
_NAMES: Mapping[str, str] = {
    "source_id": "sourceId",
    "speaker": "speaker",
    "text": "text",
    "sent_time": "sentTime",
    "session": "session",
    "direction": "direction",
    "image_caption": "imageCaption",
}
_DIRECTIONS: Mapping[str, str] = {
    "": "MESSAGE_DIRECTION_UNSPECIFIED",
    "incoming": "MESSAGE_DIRECTION_INCOMING",
    "outgoing": "MESSAGE_DIRECTION_OUTGOING",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A message and where it stands.

    Args:
        number: of the line in the file, from 1.
        message: as `DialogMessage` in JSON.
    """

    number: int
    message: Mapping[str, Any]


def read_lines(lines: Iterable[str], file_name: str) -> Iterator[Line]:
    """Yield the messages of a file, in order.

    Args:
        lines: of the file.
        file_name: for errors.

    Raises:
        Problem: a line is not a message, or uses a `source_id` again.
    """
    seen: dict[str, int] = {}
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        message = _message(text, f"{file_name}:{number}")
        source_id = message["sourceId"]
        if source_id in seen:
            raise usage_problem(
                f"{file_name}:{number}: source_id {source_id!r} stands in line {seen[source_id]} already",
                "give every message its own",
            )
        seen[source_id] = number
        yield Line(number, message)


def batches(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    """Yield the lines in order, `size` at a time; the last batch may be shorter."""
    batch: list[Line] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _message(text: str, where: str) -> dict[str, Any]:
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise usage_problem(f"{where}: not JSON ({error})", "write one JSON object a line") from error
    if not isinstance(raw, dict):
        raise usage_problem(f"{where}: not a JSON object", "write one JSON object a line")
    message = {_name(key, where): value for key, value in raw.items()}
    for name in REQUIRED:
        if not message.get(_NAMES[name]):
            raise usage_problem(f"{where}: {name} is missing", f"every line needs {', '.join(REQUIRED)}")
    for name, value in message.items():
        message[name] = _text(value, f"{where}: {name}")
    message["sentTime"] = _time(message["sentTime"], where)
    if "direction" in message:
        message["direction"] = _direction(message["direction"], where)
    return message


def _name(key: str, where: str) -> str:
    name = _NAMES.get(key, key)
    if name not in _NAMES.values():
        raise usage_problem(f"{where}: unknown field {key!r}", f"use {', '.join(_NAMES)}")
    return name


def _text(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise usage_problem(f"{where} must be a text")


def _time(value: str, where: str) -> str:
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        raise _bad_time(value, where) from None
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).isoformat()


def _bad_time(value: str, where: str) -> Problem:
    return usage_problem(f"{where}: sent_time {value!r} is not a time", "write it like 2026-03-02T18:40:00Z")


def _direction(value: str, where: str) -> str:
    direction = _DIRECTIONS.get(value.lower(), value)
    if direction not in _DIRECTIONS.values():
        raise usage_problem(f"{where}: direction {value!r} is unknown", "use incoming or outgoing")
    return direction
