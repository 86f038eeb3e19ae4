"""The values of fact extraction: what a rule finds and what a caller gets.

A rule knows a key, a value and how sure it is. Everything else of a statement (category, kind, whether several values
coexist, since when it holds) follows from the key catalogue and the sentence, so rules stay one line long.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

Kind = Literal["fact", "event"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One plain statement that a speaker made.

    Args:
        subject: whom it is about: the speaker (`user`) or somebody of the speaker's, such as `user.sister`; lower-case
            ASCII words joined by dots.
        key: what it says, in snake_case, such as `home_city`.
        value: clean text in the speaker's own words, such as `Lviv`; empty only for a retraction of every value.
        kind: `fact` holds until it is replaced; `event` happens once, at `valid_from`.
        category: a group for people who browse, such as `home` or `food`.
        excerpt: the words that state it, an exact substring of the text; at most 1,000 characters.
        confidence: 0 to 1, how plainly it was said.
        multi: True when several values of this key hold at once (allergies); False when a new value replaces the old.
        valid_from: since when it holds (or when it happens), a date in the speaker's zone; None when nothing was said.
        retract: True when the speaker took it back: facts of this subject and key with this value (any value, when it
            is empty) no longer hold, and nothing new is stated.
    """

    subject: str
    key: str
    value: str
    kind: Kind
    category: str
    excerpt: str
    confidence: float
    multi: bool
    valid_from: date | None = None
    retract: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule reads out of a clause.

    Args:
        key: as in `Statement`.
        value: as in `Statement`, already clean.
        confidence: as in `Statement`.
        retract: as in `Statement`.
        when: a date that the rule itself read; None leaves it to the sentence.
        of_speaker: True when the finding is about the speaker whatever the clause's subject is (a name given in
        passing).
        undated: True when a date in the clause tells of something else than the finding.
    """

    key: str
    value: str
    confidence: float = 0.9
    retract: bool = False
    when: date | None = None
    of_speaker: bool = False
    undated: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A finding and the clause that states it.

    Args:
        finding: with `when` resolved.
        subject: the part of the subject after the speaker, such as `sister`; empty for the speaker.
        start: where the clause begins in the whole text.
        end: where it ends there.
    """

    finding: Finding
    subject: str
    start: int
    end: int
