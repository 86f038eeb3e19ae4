"""Short answers: 'Olena' is a fact only after 'What's your name?'."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.domain.statements.english import food, identity, names, numbers, phrases, places, work
from memory.domain.statements.statement import Finding

_MAX_ANSWER_CHARS = 80
_MAX_QUESTION_CHARS = 2000
_LAST_QUESTION = re.compile(r"([^.!?\n]{1,300})\?[\s\"')]*$")
_LEAD = re.compile(
    r"(?:(?:it's|its|i'm|i am|im|just|well|um|oh|so|in|at|as|an?|sure|yes|mostly|currently)\b[ ,:]*){0,4}",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"(?:no|none|nope|nothing|not|never|nah|n/a|i don't|i do not|guess|why|skip|pass|rather|secret)\b", re.IGNORECASE
)

_NAME = re.compile(
    r"\b(?:what(?:'s| is) your name|what (?:should|can|may) i call you|your name,? please|who am i talking to)\b",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"\b(?:where do you live|where are you (?:based|living)|(?:what|which) (?:city|town) do you live)\b", re.IGNORECASE
)
_ORIGIN = re.compile(r"\bwhere (?:are you (?:originally )?from|do you come from)\b", re.IGNORECASE)
_ALLERGY = re.compile(
    r"\b(?:(?:do you have|have you got|are there|any) (?:\w+ )?allerg|what are you allergic to|allergic to anything)",
    re.IGNORECASE,
)
_AGE = re.compile(r"\b(?:how old are you|what(?:'s| is) your age)\b", re.IGNORECASE)
_WORK = re.compile(
    r"\bwhat (?:do you do(?: for (?:a living|work))?|is your (?:job|profession|occupation)|'s your job)\b",
    re.IGNORECASE,
)


def find(answer: str, previous: str) -> Iterator[Finding]:
    """Yield what a short answer states, given the message before it.

    Args:
        answer: the whole message, quotes and dashes in one spelling.
        previous: what was said before; only a question at its end counts.
    """
    asked = _LAST_QUESTION.search(previous[-_MAX_QUESTION_CHARS:])
    if asked is None or len(answer) > _MAX_ANSWER_CHARS or "?" in answer or "\n" in answer.strip():
        return
    text = phrases.collapsed(answer)
    if _NEGATIVE.match(text):
        return
    words = text[len((_LEAD.match(text) or _EMPTY)[0]) :].strip(" .,!")
    for question, read in _ANSWERS:
        if question.search(asked[1].replace("\u2019", "'")):
            yield from read(words)
            return


_EMPTY = [""]


def _name(words: str) -> Iterator[Finding]:
    name = names.person(words)
    if name and name == words and identity.is_plain_name(name):
        yield Finding("name", name, 0.9)


def _home(words: str) -> Iterator[Finding]:
    yield from places.homes(words)


def _origin(words: str) -> Iterator[Finding]:
    place = places.proper_place(words.removeprefix("from "))
    if place:
        yield Finding("origin", place, 0.85)


def _allergy(words: str) -> Iterator[Finding]:
    yield from food.listed_allergens(words.removeprefix("to "))


def _age(words: str) -> Iterator[Finding]:
    age = numbers.value(words.removesuffix(" years old"))
    if age is not None and 0 < age <= identity.MAX_AGE:
        yield Finding("age", str(age), 0.9)


def _work(words: str) -> Iterator[Finding]:
    role = work.role(words)
    if role:
        yield Finding("work_role", role, 0.85)


_ANSWERS = ((_NAME, _name), (_HOME, _home), (_ORIGIN, _origin), (_ALLERGY, _allergy), (_AGE, _age), (_WORK, _work))
