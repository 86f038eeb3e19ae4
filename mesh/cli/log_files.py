"""The log files of child processes: turned over when a process starts, and their last lines for a person."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path

KEPT = 3
"""Older files of each log, `<name>.log.1` the youngest."""

_LONGEST_LINE = 300
_TAIL_BYTES = 64 * 1024


def turn_over(path: Path) -> None:
    """Move a log and its older files up by one, so that a new one begins; the oldest is dropped."""
    for number in range(KEPT - 1, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        if older.exists():
            older.replace(path.with_name(f"{path.name}.{number + 1}"))
    if path.exists():
        path.replace(path.with_name(f"{path.name}.1"))


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """Return the end of a log, each entry as its message; an unreadable log has no lines."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(_readable(line) for line in deque((line for line in text.splitlines() if line.strip()), maxlen=count))


def _readable(line: str) -> str:
    try:
        entry = json.loads(line)
        message = str(entry["message"])
        if entry.get("exception"):
            message += ": " + str(entry["exception"]).strip().splitlines()[-1].strip()
    except (ValueError, KeyError, TypeError):
        message = line
    return message if len(message) <= _LONGEST_LINE else message[: _LONGEST_LINE - 1] + "…"
