"""A dialogue from a file into memory, in batches that are safe to repeat.

What is stored already is counted as unchanged and costs nothing, so a run that was interrupted is resumed by running it
again. The whole file is checked before the first message is sent.
"""

from __future__ import annotations

import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mesh.cli.dialogue_file import Line, batches, read_lines
from mesh.cli.http_client import MeshClient, Refused
from mesh.cli.output import err_console, out_console, print_json, tick
from mesh.cli.problems import Problem, usage_problem
from mesh.cli.turns import with_patience

BATCH_SIZE = 200
LONGEST_SHOWN_KEY = 40
SHORT_KEY = 8
"""A key that nobody chose is a digest, of which people need to see only the beginning."""
COUNTED = ("inserted", "updated", "unchanged", "pendingVectors")
_LABELS = (
    ("inserted", "chunks new"),
    ("updated", "changed"),
    ("unchanged", "unchanged"),
    ("pendingVectors", "to be found by meaning in a moment"),
)
_PLACE = re.compile(r"messages\[(\d+)\]\.?(\w*)")


def ingest(client: MeshClient, lines: Sequence[Line], target: Mapping[str, str], file_name: str) -> dict[str, Any]:
    """Store messages, with a progress bar on a terminal, and return the report of `--json`.

    Args:
        client: of the mesh.
        lines: in order.
        target: `dialogKey` and `avatarId`, where given.
        file_name: for errors.

    Raises:
        Problem: a message was refused, named by its line, or the mesh cannot be reached.
    """
    counts: Counter[str] = Counter()
    dialog_key = ""
    with _progress(len(lines)) as advance:
        for batch in batches(lines, BATCH_SIZE):
            answer = _send_batch(client, batch, target, file_name)
            counts.update({name: int(answer.get(name, 0)) for name in COUNTED})
            dialog_key = answer.get("dialogKey", dialog_key)
            advance(len(batch))
    return {"dialogKey": dialog_key, "messages": len(lines), **{name: counts[name] for name in COUNTED}}


def print_report(report: Mapping[str, Any], *, json_wanted: bool) -> None:
    """Print what `ingest` returned."""
    if json_wanted:
        print_json(report)
        return
    dialog = report["dialogKey"]
    shown = dialog if len(dialog) <= LONGEST_SHOWN_KEY else dialog[:SHORT_KEY] + "…"
    parts = [f"{report[name]} {label}" for name, label in _LABELS if report[name] or name == "inserted"]
    out_console().print(tick(f"{report['messages']} messages of dialog {shown}: {', '.join(parts)}"))


def read_file(file: str) -> list[Line]:
    """Return every message of a file, or of standard input when it is `-`.

    Raises:
        Problem: the file cannot be read, or a line is wrong.
    """
    if file == "-":
        return _read(sys.stdin, "standard input")
    try:
        with Path(file).open(encoding="utf-8") as handle:
            return _read(handle, file)
    except OSError as error:
        raise usage_problem(f"{file} cannot be read ({error.strerror})", "name a file of JSON Lines") from error
    except UnicodeDecodeError as error:
        raise usage_problem(f"{file} is not UTF-8 text", "convert it first") from error


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal; the block is given what to call with the number of messages that were just stored."""
    console = err_console()
    if not console.is_terminal:
        yield lambda _messages: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("remembering", total=total)
        yield lambda messages: progress.advance(task, messages)


def _read(handle: TextIO, name: str) -> list[Line]:
    lines = list(read_lines(handle, name))
    if not lines:
        raise usage_problem(f"{name} holds no message", "write one JSON object a line")
    return lines


def _send_batch(client: MeshClient, batch: Sequence[Line], target: Mapping[str, str], file_name: str) -> dict[str, Any]:
    body = {**target, "messages": [line.message for line in batch], "requestId": str(uuid.uuid4())}
    try:
        return with_patience(lambda: client.post("/v1/memory/chunks:ingest", body))
    except Refused as refused:
        raise _placed(refused, batch, file_name) from refused
    except Problem as problem:
        problem.details = (
            f"run the same command again to go on: line {batch[0].number} is the first that is not stored",
        )
        raise


def _placed(refused: Refused, batch: Sequence[Line], file_name: str) -> Problem:
    """Return the refusal with the lines of the file in place of positions in the request."""
    found = [(match, text) for field, text in refused.violations if (match := _PLACE.search(field))]
    if not found:
        return refused
    details = tuple(f"{file_name}:{batch[int(match[1])].number}: {match[2]} {text}".rstrip() for match, text in found)
    return Problem(
        f"{len(details)} of the messages cannot be stored ({refused.reason})", "correct them", details=details
    )
