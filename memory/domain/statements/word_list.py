"""Word lists as they are best read: prose in a string."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def phrases(text: str) -> frozenset[str]:
    """Return the phrases of a text, which stand between bars or line ends."""
    return frozenset(phrase.strip() for phrase in text.replace("\n", "|").split("|") if phrase.strip())
