"""What a language must be able to say; one class for each language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mesh.models.phrasing.selection import Selection
from mesh.models.protocols import RecalledItem


class Phrases(Protocol):
    """The sentences of one language."""

    def greeting(self, name: str) -> str:
        """Greet back, by name when it is known."""
        ...

    def assistant(self, own_name: str) -> str:
        """Say who answers, and that no model does."""
        ...

    def thanks(self) -> str:
        """Answer thanks."""
        ...

    def farewell(self) -> str:
        """Answer a farewell."""
        ...

    def nothing(self) -> str:
        """Say that nothing is known about what was asked."""
        ...

    def nothing_about_user(self) -> str:
        """Say that nothing is known about the user."""
        ...

    def memory_away(self) -> str:
        """Say that memory could not be asked, so that nothing follows from it."""
        ...

    def cannot(self) -> str:
        """Say that a task needs a model."""
        ...

    def kept(self) -> str:
        """Say that words were kept which neither tell nor ask."""
        ...

    def noted(self, statements: Sequence[str]) -> str:
        """Repeat what was told."""
        ...

    def summary(self, facts: Sequence[RecalledItem]) -> str:
        """List facts, each once."""
        ...

    def answer(self, selection: Selection) -> str:
        """State facts with the day they were told, then quote evidence."""
        ...
