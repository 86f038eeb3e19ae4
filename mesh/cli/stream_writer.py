"""Writes a growing text to a terminal: wrapped at words, indented under the speaker's name, and harmless.

Text from a model or a memory may hold control characters that move the cursor, retitle the window or reverse the
reading direction, so only line breaks and tabs pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.cells import cell_len

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PIECE = re.compile(r"\n|[^\S\n]+|\S+")
_LONGEST_HELD_WORD = 40


def printable(text: str) -> str:
    """Return a text without characters that steer a terminal."""
    return _CONTROL.sub("", text)


class StreamWriter:
    """Writes the pieces of a text as they come.

    Args:
        write: receives what to print, exactly.
        width: columns of the terminal, or None not to wrap.
        indent: columns before every line but the first, whose start stands on the screen already.
    """

    def __init__(self, write: Callable[[str], None], *, width: int | None, indent: int) -> None:
        self._write = write
        self._width = width
        self._indent = indent
        self._column = indent
        self._space = ""
        self._unfinished = ""

    def feed(self, text: str) -> None:
        """Take the next piece. A word at its end is held back until it is whole, unless it is a very long one."""
        pieces: list[str] = _PIECE.findall(self._unfinished + printable(text))
        self._unfinished = ""
        if pieces and not pieces[-1].isspace() and cell_len(pieces[-1]) <= _LONGEST_HELD_WORD:
            self._unfinished = pieces.pop()
        for piece in pieces:
            if piece == "\n":
                self._break_line()
            elif piece.isspace():
                self._space += piece.expandtabs(4)
            else:
                self._put(piece)

    def close(self) -> None:
        """Write what was held back and end the line."""
        if self._unfinished:
            self._put(self._unfinished)
        self._unfinished = self._space = ""
        self._write("\n")

    def _put(self, word: str) -> None:
        needed = cell_len(self._space) + cell_len(word)
        if self._width is not None and self._column > self._indent and self._column + needed > self._width:
            self._break_line()
        self._write(self._space + word)
        self._column += cell_len(self._space) + cell_len(word)
        self._space = ""

    def _break_line(self) -> None:
        self._write("\n" + " " * self._indent)
        self._column = self._indent
        self._space = ""
