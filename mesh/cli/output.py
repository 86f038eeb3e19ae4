"""How commands print: colours only on a terminal, JSON only on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text
from rich.theme import Theme

_THEME = Theme({"ok": "green", "bad": "bold red", "dim": "bright_black", "name": "cyan", "warn": "yellow"})


def out_console() -> Console:
    """Return the console of standard output."""
    return console_on(sys.stdout)


def err_console() -> Console:
    """Return the console of standard error, for progress and remarks."""
    return console_on(sys.stderr)


def console_on(file: TextIO) -> Console:
    """Return a console that writes to a file; it wraps nothing unless that is a terminal, so pipes get whole lines."""
    return Console(file=file, theme=_THEME, highlight=False, soft_wrap=not file.isatty(), emoji=False)


def tick(text: str) -> Text:
    """Return a line that says what was done; the text is taken as it is, whatever brackets it holds."""
    return Text.assemble(("✓ ", "ok"), text)


def print_json(value: Any) -> None:
    """Print one JSON value on one line of standard output."""
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":")), flush=True)


def is_interactive() -> bool:
    """Tell whether a person types and reads here."""
    return sys.stdin.isatty() and sys.stdout.isatty()
