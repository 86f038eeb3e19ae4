"""Cuts a text into pieces that are small enough to be cited and embedded.

A piece ends where a sentence ends, else where a word ends, else at the limit, and never inside a character that is
written with several code points. The limit of 420 characters is the source design's (S2); it also keeps a piece well
under the 256 tokens that the built-in embedder reads.
"""

from __future__ import annotations

import re
import unicodedata

DEFAULT_CHUNK_CHARS = 420

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”’)\]]*\s+|(?<=[。！？।؟])|\n+")
_BREAK = re.compile(r"\s+")
_ZERO_WIDTH_JOINER = "\u200d"


def split_text(text: str, limit: int = DEFAULT_CHUNK_CHARS) -> list[str]:
    """Return the pieces of a text, in order, without white space around them; none for a blank text.

    Args:
        text: any length.
        limit: most characters (code points) of a piece, at least 16.
    """
    rest = text.strip()
    pieces = []
    while len(rest) > limit:
        cut = _cut(rest, limit)
        pieces.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    if rest:
        pieces.append(rest)
    return pieces


def _cut(text: str, limit: int) -> int:
    """Return where to cut: after the last sentence past half of the window, else the last word, else the limit."""
    window = text[: limit + 1]
    for pattern, least in ((_SENTENCE_END, limit // 2), (_BREAK, 1)):
        ends = [match.end() for match in pattern.finditer(window) if least <= match.start() <= limit]
        if ends:
            return min(ends[-1], limit + 1)
    return _character_border(text, limit)


def _character_border(text: str, limit: int) -> int:
    """Return the last index up to `limit` that does not part a character from its marks, joiners or modifiers."""
    for cut in range(limit, 0, -1):
        if not _continues(text[cut]) and text[cut - 1] != _ZERO_WIDTH_JOINER:
            return cut
    return limit


def _continues(char: str) -> bool:
    return (
        unicodedata.category(char) in ("Mn", "Mc", "Me")
        or char == _ZERO_WIDTH_JOINER
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )
