"""What `mnemesh up` prints: a line for each step with its time, the banner, and what becomes of processes later."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from mesh.cli.output import print_json, tick
from mesh.cli.waiting import Waiting

TIME_COLUMN = 76


class Step:
    """A step that runs; `done_as` is what its line says."""

    def __init__(self, what: str) -> None:
        self.done_as = what
        self.seconds = 0.0


class UpScreen:
    """Prints for people on standard error when `json_wanted`, else on standard output.

    Args:
        console: where people read.
        json_wanted: True to print one line of JSON on standard output when all is ready.
    """

    def __init__(self, console: Console, *, json_wanted: bool) -> None:
        self._console = console
        self._json_wanted = json_wanted
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str, what: str) -> Iterator[Step]:
        """Show that a step runs, and its line with the time it took when it succeeded.

        Args:
            name: of the step in `seconds`.
            what: is done, such as `starting PostgreSQL`.
        """
        step = Step(what)
        started = time.monotonic()
        with Waiting(self._console, what):
            yield step
        self.seconds[name] = step.seconds = round(time.monotonic() - started, 2)
        line = tick(step.done_as)
        line.append(" " * max(2, TIME_COLUMN - line.cell_len) + f"{step.seconds:.1f} s", "dim")
        self._console.print(line)

    def ready(self, lines: Sequence[str], report: Mapping[str, Any]) -> None:
        """Show the banner, or the report as JSON."""
        if self._json_wanted:
            print_json(report)
            return
        for line in lines:
            self._console.print(Text(line), soft_wrap=True)

    def remark(self, text: str, style: str = "dim") -> None:
        """Show what happened to a process."""
        self._console.print(Text(text, style))
