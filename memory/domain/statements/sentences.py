"""Sentences with their positions: one pass over the text, no language needed beyond a few abbreviations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_END = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]]*+(?=\s|$)|\n++|;")
_ABBREVIATION = re.compile(
    r"\b(?:mr|mrs|ms|dr|prof|st|mt|jr|sr|vs|e\.g|i\.e|approx|dept|inc|ltd|u\.s|u\.k|вул|просп|ім|м"
    r"|(?-i:[A-HJ-Z]))$",
    re.IGNORECASE,
)
_LOOK_BEHIND = 8


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Args:
        text: its words without the closing mark.
        start: position of `text` in the whole.
        mark: what closed it: `?`, `!`, `.` and the like, or empty.
    """

    text: str
    start: int
    mark: str

    @property
    def asks(self) -> bool:
        return "?" in self.mark


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text in order; empty ones are left out."""
    begin = 0
    for match in _END.finditer(text):
        if _is_abbreviation(text, begin, match):
            continue
        yield from _sentence(text, begin, match.start(), match[0])
        begin = match.end()
    yield from _sentence(text, begin, len(text), "")


def _is_abbreviation(text: str, begin: int, match: re.Match[str]) -> bool:
    if match[0] != ".":
        return False
    before = text[max(begin, match.start() - _LOOK_BEHIND) : match.start()]
    return _ABBREVIATION.search(before) is not None


def _sentence(text: str, begin: int, end: int, mark: str) -> Iterator[Sentence]:
    raw = text[begin:end]
    words = raw.strip()
    if words:
        yield Sentence(words, begin + raw.index(words[0]), mark.strip())
