"""Numbers up to 99 written in English words or digits."""

from __future__ import annotations

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip

_MAX_DIGITS = 6


def value(words: str) -> int | None:
    """Return the number that a text is: '34', 'six', 'twenty-five'; None when it is none."""
    text = words.strip().lower()
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    if text in _UNITS:
        return _UNITS.index(text)
    tens, _, unit = text.replace("-", " ").partition(" ")
    if tens not in _TENS or (unit and unit not in _UNITS[1:10]):
        return None
    return _TENS[tens] + (_UNITS.index(unit) if unit else 0)
