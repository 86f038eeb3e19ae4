"""From what somebody said to the facts that they stated, without a model.

The rules read only what is plainly said, and prefer silence to a wrong fact: questions, conditions, wishes, hearsay,
jokes, fiction, quotations and recalled text state nothing. The work is bounded: a text is cut at 20,000 characters, at
most 400 sentences and 64 statements are read, and every pattern works on a clause of at most 300 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import islice

from memory.domain.statements import masking
from memory.domain.statements.calendar_days import local_day
from memory.domain.statements.english import answers as english_answers
from memory.domain.statements.english import reader as english
from memory.domain.statements.keys import rule_of
from memory.domain.statements.sentences import Sentence, sentences
from memory.domain.statements.statement import Reading, Statement
from memory.domain.statements.ukrainian import reader as ukrainian

MAX_SENTENCES = 400
MAX_STATEMENTS = 64
MAX_EXCERPT_CHARS = 1000

_SILENT_SPEAKERS = frozenset({"assistant", "system", "tool", "model"})
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LETTER = re.compile(r"[A-Za-z\u0400-\u04ff]")
_LATIN = re.compile(r"[A-Za-z]")
_NOT_UKRAINIAN = re.compile(r"[ыэёъ]", re.IGNORECASE)


def extract(
    text: str, *, said_at: datetime, zone: str = "UTC", speaker: str = "user", previous: str = ""
) -> list[Statement]:
    """Return the facts that a speaker states about themselves and their own.

    Args:
        text: one message; what is past 20,000 characters is not read.
        said_at: when it was said; a naive time is read as UTC.
        zone: IANA zone of the speaker, in which 'tomorrow' is resolved; an unknown one is read as UTC.
        speaker: the first part of every subject; statements of an assistant are not facts about anybody.
        previous: the message before, so that a short answer to a question can be read.

    Returns:
        The statements in the order of the text, each once; empty when nothing is stated. Retractions are marked. Never
        raises on any text.
    """
    subject = _slug(speaker)
    if subject in _SILENT_SPEAKERS:
        return []
    plain = masking.plain(text)
    today = local_day(said_at, zone)
    readings = _read(plain, today)
    found = [_statement(reading, subject, text) for reading in islice(readings, MAX_STATEMENTS)]
    if not found:
        found = [_statement(reading, subject, text) for reading in _answer(plain, previous)]
    return _distinct(found)


def _read(plain: str, today: date) -> Iterator[Reading]:
    """Yield the readings of all sentences; one that was taken back by the next sentence is left out."""
    held: list[Reading] = []
    for sentence in islice(sentences(plain), MAX_SENTENCES):
        if english.takes_back(sentence) or ukrainian.takes_back(sentence):
            held = []
            continue
        yield from held
        held = []
        if english.starts_task(sentence) or ukrainian.starts_task(sentence):
            break
        held = list(_read_sentence(sentence, today))
    yield from held


def _read_sentence(sentence: Sentence, today: date) -> Iterator[Reading]:
    if _is_cyrillic(sentence.text):
        if _NOT_UKRAINIAN.search(sentence.text) is None:
            yield from ukrainian.read_sentence(sentence, today)
    else:
        yield from english.read_sentence(sentence, today)


def _is_cyrillic(text: str) -> bool:
    """Tell whether a sentence is written in Cyrillic; foreign names in it do not change that."""
    first = _LETTER.search(text)
    mostly = len(_CYRILLIC.findall(text)) > len(_LATIN.findall(text))
    return mostly or (first is not None and _CYRILLIC.match(first[0]) is not None)


def _answer(plain: str, previous: str) -> Iterator[Reading]:
    words = plain.strip()
    if not words or not previous:
        return
    start = plain.index(words[0])
    for finding in english_answers.find(words, previous):
        yield Reading(finding, "", start, start + len(words))


def _statement(reading: Reading, speaker: str, text: str) -> Statement:
    finding, rule = reading.finding, rule_of(reading.finding.key)
    return Statement(
        subject=f"{speaker}.{reading.subject}" if reading.subject else speaker,
        key=finding.key,
        value=finding.value,
        kind=rule.kind,
        category=rule.category,
        excerpt=text[reading.start : reading.end].strip()[:MAX_EXCERPT_CHARS],
        confidence=finding.confidence,
        multi=rule.multi,
        valid_from=finding.when,
        retract=finding.retract,
    )


def _distinct(statements: Sequence[Statement]) -> list[Statement]:
    """Return each (subject, key, value) once: the last word counts, in the place of the first."""
    by_identity: dict[tuple[str, str, str], Statement] = {}
    for statement in statements:
        by_identity[(statement.subject, statement.key, statement.value.casefold())] = statement
    return list(by_identity.values())


def _slug(speaker: str) -> str:
    """Return a speaker's name as the first part of a subject: lower-case ASCII words."""
    words = re.findall(r"[a-z0-9]+", speaker.lower())
    return "_".join(words)[:64] or "user"
