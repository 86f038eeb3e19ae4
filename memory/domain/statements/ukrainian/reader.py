"""Ukrainian text to findings, in the shape of the English reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from memory.domain.statements.keys import rule_of
from memory.domain.statements.sentences import Sentence
from memory.domain.statements.statement import Finding, Reading
from memory.domain.statements.ukrainian import clauses, dates, people, rules
from memory.domain.statements.ukrainian.clauses import Clause, starts_task, takes_back

__all__ = ["read_sentence", "starts_task", "takes_back"]


def read_sentence(sentence: Sentence, today: date) -> Iterator[Reading]:
    """Yield what one sentence states."""
    for clause in clauses.spoken(sentence):
        for subject, finding in _findings(clause, today):
            yield Reading(_dated(finding, clause, today), subject, clause.start, clause.end)


def _findings(clause: Clause, today: date) -> Iterator[tuple[str, Finding]]:
    yield from (("", finding) for finding in rules.find(clause, today))
    yield from (("", finding) for finding in people.find(clause))
    yield from people.related(clause)


def _dated(finding: Finding, clause: Clause, today: date) -> Finding:
    if finding.when is not None or not (rule_of(finding.key).dated or finding.retract):
        return finding
    return replace(finding, when=dates.find(clause.raw, today, ahead=False))
