"""Relatives and pets in Ukrainian: their names, and what is said of a relative."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.domain.statements.statement import Finding
from memory.domain.statements.ukrainian import forms, rules
from memory.domain.statements.ukrainian.clauses import Clause
from memory.domain.statements.ukrainian.words_family import ACCUSATIVE, NOMINATIVE, UNNAMED_SUBJECTS

_NOMINATIVES = "|".join(sorted(NOMINATIVE, key=len, reverse=True))
_ACCUSATIVES = "|".join(sorted(ACCUSATIVE, key=len, reverse=True))
_ADJECTIVE = (
    r"(?:(?:старша|старший|молодша|молодший|найкраща|найкращий|рідна|рідний|маленька|маленький|старшу|старшого"
    r"|молодшу|молодшого|найкращу|найкращого) )?"
)
_SPECIES = {
    "собака": "dog", "собаку": "dog", "пес": "dog", "пса": "dog", "песик": "dog", "песика": "dog", "цуценя": "dog",
    "кіт": "cat", "кота": "cat", "кішка": "cat", "кішку": "cat", "котик": "cat", "котика": "cat", "кошеня": "cat",
    "папуга": "parrot", "папугу": "parrot", "хом'як": "hamster", "хом'яка": "hamster", "кролик": "rabbit",
    "кролика": "rabbit",
    "черепаха": "turtle", "черепаху": "turtle", "кінь": "horse", "коня": "horse",
}  # fmt: skip
_ACCUSATIVE_SPECIES = frozenset(
    {"собаку", "пса", "песика", "кота", "кішку", "котика", "папугу", "хом'яка", "кролика", "черепаху", "коня"}
)
_PET = "|".join(sorted(_SPECIES, key=len, reverse=True))

_RELATIVE = re.compile(
    rf"(?:мій|моя|наш|наша) {_ADJECTIVE}(?P<rel>{_NOMINATIVES})\b,?(?: –)? ?(?P<rest>.*)", re.IGNORECASE
)
_RELATIVE_NAMED = re.compile(
    rf"(?:мого|мою|нашого|нашу) {_ADJECTIVE}(?P<rel>{_ACCUSATIVES}) (?:звати|звуть) (?P<name>.+)", re.IGNORECASE
)
_HAVE_RELATIVE = re.compile(
    rf"[ув] (?:мене|нас) (?:є )?{_ADJECTIVE}(?P<rel>{_NOMINATIVES})(?: на ім'я|,)? (?P<name>.+)", re.IGNORECASE
)
_CHILDREN = re.compile(r"[ув] (?:мене|нас) (?:є )?(?P<count>двоє|троє|четверо|п'ятеро) дітей", re.IGNORECASE)
_COUNTS = {"двоє": "2", "троє": "3", "четверо": "4", "п'ятеро": "5"}
_MY_PET = re.compile(rf"(?:мій|моя|наш|наша|моє|наше) (?P<pet>{_PET}),? (?P<name>[А-ЯҐЄІЇA-Z].*)", re.IGNORECASE)
_PET_NAMED = re.compile(rf"(?:мого|мою|нашого|нашу) (?P<pet>{_PET}) (?:звати|звуть) (?P<name>.+)", re.IGNORECASE)
_HAVE_PET = re.compile(
    rf"(?:[ув] (?:мене|нас) (?:є |живе |з'явився |з'явилася )?|маю |маємо )(?P<pet>{_PET})(?P<named> на (?:ім'я"
    rf"|прізвисько)|,)? (?P<name>.+)",
    re.IGNORECASE,
)


def find(clause: Clause) -> Iterator[Finding]:
    """Yield the speaker's relatives and pets by name."""
    yield from _relatives(clause.text)
    yield from _pets(clause)


def related(clause: Clause) -> Iterator[tuple[str, Finding]]:
    """Yield (subject, finding) for what is said of a relative: 'моя сестра живе у Празі'."""
    match = _RELATIVE.match(clause.text)
    if match is None:
        return
    subject, _ = NOMINATIVE[match["rel"].lower()]
    name = forms.proper(match["rest"])
    predicate = match["rest"][len(name) :].strip(" ,–")
    if subject in UNNAMED_SUBJECTS:
        return
    if lives := re.match(r"(?:живе|мешкає) [ув] (?P<place>.+)", predicate, re.IGNORECASE):
        yield from ((subject, finding) for finding in rules.home(lives["place"]))
    elif works := re.match(r"працює(?P<rest> .+)", predicate, re.IGNORECASE):
        yield from ((subject, finding) for finding in rules.work(works["rest"]))


def _relatives(text: str) -> Iterator[Finding]:
    if match := _CHILDREN.match(text):
        yield Finding("children_count", _COUNTS[match["count"].lower()], 0.9)
    elif match := _RELATIVE_NAMED.match(text):
        yield from _name(ACCUSATIVE[match["rel"].lower()][1], match["name"], 0.95)
    elif match := _HAVE_RELATIVE.match(text):
        yield from _name(NOMINATIVE[match["rel"].lower()][1], match["name"], 0.9)
    elif match := _RELATIVE.match(text):
        yield from _name(NOMINATIVE[match["rel"].lower()][1], match["rest"], 0.9)


def _name(key: str, text: str, confidence: float) -> Iterator[Finding]:
    if name := forms.proper(text):
        yield Finding(key, name, confidence)


def _pets(clause: Clause) -> Iterator[Finding]:
    match = _PET_NAMED.match(clause.text) or _MY_PET.match(clause.text) or _HAVE_PET.match(clause.predicate)
    if match is None or not (name := forms.proper(match["name"])):
        return
    accusative = match.re is _HAVE_PET and not match["named"] and match["pet"].lower() in _ACCUSATIVE_SPECIES
    yield Finding(f"pet_{_SPECIES[match['pet'].lower()]}", forms.called(name) if accusative else name, 0.9)
