"""Lasting health conditions, from a closed list: a headache today is not one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding

_CONDITION = (
    r"(?:(?:type (?:1|2|one|two) |gestational )?diabetes|asthma|epilepsy|migraines?|chronic migraines?|hay fever|"
    r"c(?:o)?eliac disease|crohn's disease|crohn's|(?:rheumatoid )?arthritis|adhd|add|autism|dyslexia|depression"
    r"|anxiety|bipolar disorder|ocd|ptsd|high blood pressure|hypertension|low blood pressure|insomnia|eczema|psoriasis|"
    r"a (?:heart|thyroid|kidney) condition|hypothyroidism|an underactive thyroid|multiple sclerosis|parkinson's"
    r"|glaucoma|"
    r"tinnitus|scoliosis|anaemia|anemia|ibs|gout|lupus|endometriosis|a pacemaker|chronic pain|chronic fatigue|a bad "
    r"back|a bad knee|sleep apnea|sleep apnoea|acid reflux|vertigo)"
)
_HAS = re.compile(
    rf"(?:have|suffer from|am suffering from|have been diagnosed with|was diagnosed with|got diagnosed with|live with)"
    rf" (?:(?:mild|severe|bad|chronic) )?(?P<condition>{_CONDITION})(?=$|[ ,.!;])",
    re.IGNORECASE,
)
_IS = re.compile(
    r"am (?:an? )?(?P<condition>(?:type (?:1|2|one|two) )?diabetic|asthmatic|epileptic|colou?r[- ]?blind|autistic"
    r"|dyslexic|deaf|hard of hearing|blind|anaemic|anemic|wheelchair user|insomniac)(?=$|[ ,.!;])",
    re.IGNORECASE,
)


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield the clause's subject's lasting conditions."""
    if clause.who == "it":
        return
    match = _HAS.match(clause.predicate) or _IS.match(clause.predicate)
    if match is not None:
        condition = match["condition"]
        value = condition.split(" ", 1)[1] if condition.lower().startswith(("a ", "an ")) else condition
        yield Finding("health_condition", value, 0.9)
