"""English answers: who said it, when, and what, in as few sentences as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mesh.models.phrasing.days import Calendar
from mesh.models.phrasing.facts_english import clauses
from mesh.models.phrasing.second_person import second_person
from mesh.models.phrasing.selection import Selection
from mesh.models.phrasing.wording import joined, quoted, upper_first
from mesh.models.protocols import RecalledItem

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_MAX_NOTED = 3

NOTHING_KNOWN = "I don't know anything about that yet. Tell me, and I'll remember it."
NOTHING_ABOUT_USER = "I don't know anything about you yet. Tell me something, and I'll remember it."
MEMORY_AWAY = "I can't reach my memory right now, so I can't tell. Please ask me again in a moment."
THANKS = "You're welcome."
FAREWELL = "Goodbye. I'll keep what you told me."
NOTED = "Noted."
KEPT = "Noted. No language model is connected, so I only keep what you say and answer from it."
CANNOT = "I can't do that: no language model is connected, so I only answer from what you told me."


@dataclass(frozen=True, slots=True)
class English:
    """The phrases of English.

    Args:
        calendar: the user's zone and the day of the turn.
    """

    calendar: Calendar

    def greeting(self, name: str) -> str:
        """Greet back, by name when it is known."""
        hello = f"Hello, {name}." if name else "Hello."
        return f"{hello} Tell me something about yourself, or ask me what I remember."

    def assistant(self, own_name: str) -> str:
        """Say who answers, and that no model does."""
        who = f"I'm {own_name}. " if own_name else ""
        return f"{who}No language model is connected: I'm the built-in responder, and I answer from what you told me."

    def thanks(self) -> str:
        """Answer thanks."""
        return THANKS

    def farewell(self) -> str:
        """Answer a farewell."""
        return FAREWELL

    def nothing(self) -> str:
        """Say that nothing is known about what was asked."""
        return NOTHING_KNOWN

    def nothing_about_user(self) -> str:
        """Say that nothing is known about the user."""
        return NOTHING_ABOUT_USER

    def memory_away(self) -> str:
        """Say that memory could not be asked."""
        return MEMORY_AWAY

    def cannot(self) -> str:
        """Say that a task needs a model."""
        return CANNOT

    def kept(self) -> str:
        """Say that words were kept which neither tell nor ask."""
        return KEPT

    def noted(self, statements: Sequence[str]) -> str:
        """Repeat what was told, in the second person as far as that can be done safely."""
        turned = [words for sentence in statements[:_MAX_NOTED] if (words := second_person(sentence))]
        if not turned:
            return NOTED
        more = len(statements) > len(turned)
        return f"Noted: {'; '.join(turned)}{', and the rest of what you said' if more else ''}."

    def summary(self, facts: Sequence[RecalledItem]) -> str:
        """List facts, each clause once."""
        return f"This is what I know: {'; '.join(clauses(facts))}."

    def answer(self, selection: Selection) -> str:
        """State facts with the day they were told, then quote evidence."""
        sentences = self._told(selection.facts)
        sentences += [self._said(item) for item in selection.evidence]
        return " ".join(sentences)

    def _told(self, facts: Sequence[RecalledItem]) -> list[str]:
        by_day: dict[str, list[RecalledItem]] = {}
        for fact in facts:
            by_day.setdefault(self._on(fact.at), []).append(fact)
        sentences: list[str] = []
        for day, told in by_day.items():
            also = "also " if sentences else ""
            listed = joined([f"that {words}" for words in clauses(told)], "and")
            sentences.append(f"You {also}told me{day} {listed}.")
        return sentences

    def _said(self, item: RecalledItem) -> str:
        day = self._on(item.at)
        if item.kind == "document":
            return upper_first(f"{item.source or 'a document'} says: {quoted(item.text)}")
        if item.speaker.casefold() in ("", "user"):
            return f"You said{day or ' earlier'}: {quoted(item.text)}"
        return f"{item.speaker} said{day}: {quoted(item.text)}"

    def _on(self, at: datetime | None) -> str:
        """Return ' on 1 December', with the year when it is not the turn's year; empty without a date."""
        day = self.calendar.day(at)
        if day is None:
            return ""
        year = "" if self.calendar.is_this_year(day) else f" {day.year}"
        return f" on {day.day} {_MONTHS[day.month - 1]}{year}"
