"""English text to findings: sentences into clauses, guards over them, every subject's rules on what is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from memory.domain.statements.english import (
    clauses,
    dates,
    family,
    food,
    guards,
    health,
    identity,
    pets,
    places,
    plans,
    possessions,
    preferences,
    work,
)
from memory.domain.statements.english.clause import Clause, read
from memory.domain.statements.keys import RELATED_KEYS, rule_of
from memory.domain.statements.sentences import Sentence
from memory.domain.statements.statement import Finding, Reading

_RULES = (
    identity.find, places.find, work.find, family.find, pets.find, food.find, health.find, preferences.find, plans.find,
    possessions.find,
)  # fmt: skip
_MAX_NAME_CHARS = 48
_BY_EXPLICIT_DATE = frozenset({"plan", "appointment"})


def starts_task(sentence: Sentence) -> bool:
    """Tell whether the sentence makes all that follows material and not statement."""
    return guards.starts_task(sentence)


def takes_back(sentence: Sentence) -> bool:
    """Tell whether the sentence makes a joke of the one before."""
    return guards.takes_back(sentence)


def read_sentence(sentence: Sentence, today: date) -> Iterator[Reading]:
    """Yield what one sentence states."""
    if guards.silent_sentence(sentence):
        return
    parsed, raw = _clauses(sentence)
    for clause in guards.spoken_clauses(sentence, parsed, raw):
        yield from _readings(clause, today)


def _clauses(sentence: Sentence) -> tuple[list[Clause], list[str]]:
    parsed: list[Clause] = []
    raw: list[str] = []
    for begin, end in clauses.spans(sentence.text):
        start = begin + clauses.conjunction_length(sentence.text[begin:end])
        words = sentence.text[start:end]
        if end - start > clauses.MAX_CLAUSE_CHARS:
            parsed.append(Clause("", sentence.start + start, sentence.start + end))
            raw.append("")
            continue
        before = parsed[-1] if parsed else None
        parsed.append(read(words, sentence.start + start, sentence.start + end, before))
        raw.append(" ".join(words.split()))
    return parsed, raw


def _readings(clause: Clause, today: date) -> Iterator[Reading]:
    for find in _RULES:
        for finding in find(clause, today):
            subject = _subject(clause, finding)
            if subject is None or (subject and finding.key not in RELATED_KEYS):
                continue
            yield Reading(_dated(finding, clause, today), subject, clause.start, clause.end)


def _subject(clause: Clause, finding: Finding) -> str | None:
    """Return whom a finding is about; None when that person cannot be told from others."""
    if finding.of_speaker or clause.relation is None:
        return ""
    if clause.relation.unique:
        return clause.who
    name = "".join(char for char in clause.relation_name.lower().replace(" ", "_") if char == "_" or char.isalnum())
    return f"{clause.who}.{name[:_MAX_NAME_CHARS]}" if name and name.isascii() else None


def _dated(finding: Finding, clause: Clause, today: date) -> Finding:
    if finding.when is not None or finding.undated or finding.key in _BY_EXPLICIT_DATE:
        return finding
    if not (rule_of(finding.key).dated or finding.retract):
        return finding
    hit = dates.find(clause.text, today, "past") or dates.find(clause.opening, today, "past")
    return replace(finding, when=hit.day) if hit else finding
