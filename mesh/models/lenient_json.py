"""A JSON parser for what language models write, which never guesses content.

It forgives form: commas too many, comments, single quotes, Python's literals, raw line ends in strings, brackets left
open. It does not forgive content: a missing comma or an unescaped quote could be read in two ways, and the caller would
learn the wrong one, so these are errors. Text that ends early keeps the items that are whole and says that more is
lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 48
"""Nesting that is still read; deeper is an attack or a loop of the model's."""

_GAP = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LITERALS: dict[str, bool | None] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None,
}  # fmt: skip
_PLAIN = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_MAX_DIGITS = 64
_ELLIPSES = ("...", "…")


class NotJson(Exception):
    """The text cannot be read in exactly one way."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value read from a text.

    Args:
        value: what was read.
        end: index of the first character after it.
        whole: False when the text ended early, or said `...`, and something is missing from `value`.
    """

    value: Any
    end: int
    whole: bool


class _Missing(Exception):
    """The text ended inside a value."""


def parse_at(text: str, start: int) -> Parsed:
    """Return the value that begins at a `{` or `[`.

    Raises:
        NotJson: it cannot be read, or the text ended before anything of it was whole.
    """
    parser = _Parser(text, start)
    try:
        value = parser.container(0, keep_part=True)
    except _Missing:
        raise NotJson("the text ends before anything is whole") from None
    return Parsed(value, parser.position, parser.whole)


class _Parser:
    """Recursive descent over one text.

    Where the text ends, an array keeps the items that are whole, and an object that is the root or a member keeps its
    whole members; an object or array that is an item of an array is dropped, since half a thing states something else.
    """

    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self.position = position
        self.whole = True

    def container(self, depth: int, *, keep_part: bool) -> Any:
        if depth > MAX_DEPTH:
            raise NotJson("nested too deeply")
        opening = self._text[self.position]
        self.position += 1
        found: dict[str, Any] | list[Any] = {} if opening == "{" else []
        try:
            self._members(found, depth) if isinstance(found, dict) else self._items(found, depth)
        except _Missing:
            self.whole = False
            self.position = len(self._text)
            if not found or not keep_part:
                raise
        return found

    def _members(self, found: dict[str, Any], depth: int) -> None:
        while not self._closes("}", "]"):
            key = self._key()
            if self._peek() not in (":", ""):
                raise NotJson("a member without a colon")
            self.position += 1
            found[key] = self._value(depth, keep_part=True)
            self._separator("}", "]")

    def _items(self, found: list[Any], depth: int) -> None:
        while not self._closes("]", "}"):
            if not self._ellipsis():
                found.append(self._value(depth, keep_part=False))
            self._separator("]", "}")

    def _peek(self) -> str:
        """Skip what has no meaning and return the next character, or '' at the end."""
        gap = _GAP.match(self._text, self.position)
        if gap is not None:
            self.position = gap.end()
        return self._text[self.position : self.position + 1]

    def _closes(self, own: str, other: str) -> bool:
        """Tell whether the container ends here. A bracket of the other kind ends it too: its own was forgotten."""
        char = self._peek()
        if char == "":
            raise _Missing
        if char == own:
            self.position += 1
            return True
        return char == other

    def _separator(self, own: str, other: str) -> None:
        char = self._peek()
        if char == ",":
            self.position += 1
            while self._peek() == ",":
                self.position += 1
        elif char not in (own, other, ""):
            raise NotJson("two values without a comma")

    def _ellipsis(self) -> bool:
        mark = next((mark for mark in _ELLIPSES if self._text.startswith(mark, self.position)), "")
        self.position += len(mark)
        self.whole = self.whole and not mark
        return bool(mark)

    def _key(self) -> str:
        char = self._peek()
        if char in ('"', "'"):
            return self._string(char)
        word = _WORD.match(self._text, self.position)
        if word is None:
            raise NotJson("a member without a name")
        self.position = word.end()
        return word.group()

    def _value(self, depth: int, *, keep_part: bool) -> Any:
        char = self._peek()
        if char == "":
            raise _Missing
        if char in ("{", "["):
            return self.container(depth + 1, keep_part=keep_part)
        return self._string(char) if char in ('"', "'") else self._scalar()

    def _scalar(self) -> Any:
        number = _NUMBER.match(self._text, self.position)
        word = number or _WORD.match(self._text, self.position)
        if word is None:
            raise NotJson("a value that is none")
        self.position = word.end()
        if self.position == len(self._text):
            raise _Missing
        if number is not None:
            return _number(number.group())
        if word.group() not in _LITERALS:
            raise NotJson("a word that is no value")
        return _LITERALS[word.group()]

    def _string(self, quote: str) -> str:
        self.position += 1
        parts: list[str] = []
        while True:
            run = _PLAIN[quote].match(self._text, self.position)
            if run is not None:
                parts.append(run.group())
                self.position = run.end()
            char = self._text[self.position : self.position + 1]
            if char == "":
                raise _Missing
            self.position += 1
            if char == quote:
                return "".join(parts)
            parts.append(self._escape())

    def _escape(self) -> str:
        char = self._text[self.position : self.position + 1]
        if char == "":
            raise _Missing
        self.position += 1
        if char != "u":
            return _ESCAPES.get(char, char)
        digits = _HEX4.match(self._text, self.position)
        if digits is None:
            raise _Missing if len(self._text) - self.position < 4 else NotJson("a broken escape")
        self.position = digits.end()
        return chr(int(digits.group(), 16))


def _number(text: str) -> int | float:
    if len(text) > _MAX_DIGITS:
        raise NotJson("a number of too many digits")
    return float(text) if any(mark in text for mark in ".eE") else int(text)
