"""Text as it may stand in an answer: one line, bounded, in quotes that nothing inside can close."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_QUOTE_CHARS = 240
"""Most characters of one quotation; a longer one is cut at a word and marked."""

_SPACE = re.compile(r"[\s\x00-\x1f\x7f\u2028\u2029]+")
_QUOTES = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def one_line(text: str) -> str:
    """Return a text with every run of white space and control characters as one space."""
    return _SURROGATES.sub("", _SPACE.sub(" ", text)).strip()


def shortened(text: str, limit: int = MAX_QUOTE_CHARS) -> str:
    """Return a line of at most `limit` characters, cut between words where that is possible."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    word_end = cut.rfind(" ")
    return f"{cut[:word_end] if word_end > limit // 2 else cut}…"


def quoted(text: str, opening: str = "\u201c", closing: str = "\u201d") -> str:
    """Return a text as a quotation; quotation marks inside become single ones."""
    return f"{opening}{_QUOTES.sub(chr(0x27), shortened(text))}{closing}"


def joined(parts: Sequence[str], conjunction: str) -> str:
    """Return 'a', 'a and b', or 'a, b and c'."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def upper_first(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[:1].upper() + text[1:]
