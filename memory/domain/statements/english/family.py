"""Family, partners and friends: their names, how many there are, and whether one is married."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import identity, names, numbers, phrases
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.english.words_family import PEOPLE_ADJECTIVES, PLURALS, RELATIONS
from memory.domain.statements.statement import Finding

_RELATION = "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))
_PLURAL = "|".join(sorted(PLURALS, key=len, reverse=True))
_MY = rf"(?:my|our) (?:{PEOPLE_ADJECTIVES} ){{0,3}}"

_IN_PASSING = re.compile(rf"(?i:\b{_MY}(?P<rel>{_RELATION}),?(?: called| named)? )(?P<name>[^\W\d_].*)")
_NAME_OF = re.compile(rf"{_MY}(?P<rel>{_RELATION})'s (?:first )?name(?: is|'s) (?P<name>.+)", re.IGNORECASE)
_IS_NAMED = re.compile(rf"{_MY}(?P<rel>{_RELATION})(?: is|'s) (?:called|named) (?P<name>.+)", re.IGNORECASE)
_IS_PERSON = re.compile(rf"{_MY}(?P<rel>{_RELATION})(?: is|'s) (?P<name>.+)", re.IGNORECASE)
_ARE_NAMED = re.compile(
    rf"{_MY}(?:(?:two|three|four|five) )?(?P<rel>{_PLURAL})(?:'s?|s'?)?(?: names)?(?: are|:)(?: called| named)? "
    rf"(?P<names>.+)",
    re.IGNORECASE,
)
_PLURAL_PASSING = re.compile(rf"{_MY}(?P<rel>{_PLURAL}),? (?P<names>[^\W\d_a-z].+)")
_PERSON_IS = re.compile(rf"(?P<name>.{{2,60}}?) is {_MY}(?P<rel>{_RELATION})\b", re.IGNORECASE)

_HAVE_NAMED = re.compile(
    rf"have (?:an?|one) (?:{PEOPLE_ADJECTIVES} ){{0,3}}(?:\d+[- ](?:year|month)s?[- ]old )?(?P<rel>{_RELATION})"
    rf"(?: (?:called|named|whose name is)|,) (?P<name>.+)",
    re.IGNORECASE,
)
_ALSO_NAMED = re.compile(
    rf"(?:,|and) an? (?:{PEOPLE_ADJECTIVES} ){{0,3}}(?P<rel>{_RELATION}) (?:called|named) (?P<name>.+)", re.IGNORECASE
)
_HAVE_SEVERAL = re.compile(
    rf"have (?P<count>\d{{1,2}}|two|three|four|five|six|seven) (?:{PEOPLE_ADJECTIVES} ){{0,2}}(?P<rel>{_PLURAL})"
    rf"\b(?: (?:called|named)|,|:| -| –)? ?(?P<names>.*)",
    re.IGNORECASE,
)
_HAVE_SOME = re.compile(r"have (?P<list>(?:an?|one|two|three|four|five|\d) .+)", re.IGNORECASE)
_SOME = re.compile(
    rf"(?:(?P<count>two|three|four|five|\d) |an? |one )?(?P<words>(?:{PEOPLE_ADJECTIVES} ){{0,2}}"
    rf"(?P<rel>brothers?|sisters?|siblings?|sons?|daughters?|kid|child|baby))$",
    re.IGNORECASE,
)
_PARENT_OF = re.compile(
    r"am (?:an?|the)? ?(?:[\w-]+ )?(?:father|mother|mom|mum|dad|parent) (?:of|to) (?P<count>\w+)\b", re.IGNORECASE
)
_CHILD_WORDS = ("son", "daughter", "kid", "child", "baby")

_MARRIED_TO = re.compile(r"(?:am|have been|got) married to (?P<name>.+)", re.IGNORECASE)
_DATING = re.compile(
    r"(?:am|have been) (?:dating|engaged to|in a relationship with|going out with) (?P<name>.+)", re.IGNORECASE
)
_BROKE_UP = re.compile(
    r"(?:have )?(?:broke|broken|split) up with (?:my (?:girlfriend|boyfriend|partner|fianc\w+),? ?)?"
    r"(?P<name>[^\W\d_].*)?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"(?:am|have been|got|have got|have gotten|was) (?:recently )?(?P<status>married|divorced|engaged|widowed|single"
    r"|separated|in a relationship)(?P<rest>.*)",
    re.IGNORECASE,
)
_STATUS_REST = re.compile(
    r"(?:$|[.,!]| (?:for|since|to (?!my\b|the\b|your\b)|with|now|again|and|last|yesterday|today|this|in|on|two|three"
    r"|a |\d|happily|with|ago))",
    re.IGNORECASE,
)
_PAST_STATUS = re.compile(r"was ", re.IGNORECASE)


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield the speaker's relatives and friends, and a subject's relationship status."""
    yield from _named(clause.text)
    if clause.who == "user":
        yield from _has(clause.predicate)
        yield from _partner(clause.predicate)
    if clause.who not in ("", "it"):
        yield from _relationship(clause.predicate)


def _named(text: str) -> Iterator[Finding]:
    if match := _ARE_NAMED.match(text) or _PLURAL_PASSING.match(text[:1].lower() + text[1:]):
        key = PLURALS[match["rel"].lower()]
        yield from (Finding(key, name, 0.9, of_speaker=True) for name in _plain(names.people(match["names"])))
        return
    match = _NAME_OF.match(text) or _IS_NAMED.match(text)
    confidence = 0.95
    if match is None and (match := _IS_PERSON.match(text)):
        confidence = 0.85
        if _ends_after(match["name"], names.person(match["name"])) is False:
            match = None
    if match is None and (match := _PERSON_IS.match(text)):
        confidence = 0.9
        if names.person(match["name"]) != match["name"]:
            match = None
    match = match or _IN_PASSING.search(text)
    if match is not None:
        yield from _one(match["rel"], match["name"], confidence)


def _one(relation: str, text: str, confidence: float) -> Iterator[Finding]:
    for name in _plain([names.person(text)]):
        yield Finding(RELATIONS[relation.lower()].name_key, name, confidence, of_speaker=True)


def _plain(found: list[str]) -> list[str]:
    return [name for name in found if identity.is_plain_name(name)]


def _ends_after(text: str, name: str) -> bool:
    return bool(name) and text[len(name) :].lstrip(" ")[:1] in ("", ",", ".", "!")


def _has(predicate: str) -> Iterator[Finding]:
    if match := _HAVE_NAMED.match(predicate):
        found = list(_one(match["rel"], match["name"], 0.95))
        for more in _ALSO_NAMED.finditer(match["name"]):
            found += _one(more["rel"], more["name"], 0.95)
        if found:
            yield from found
            return
    if match := _HAVE_SEVERAL.match(predicate):
        yield from _several(match)
    if match := _HAVE_SOME.match(predicate):
        yield from _some(match["list"])
    if match := _PARENT_OF.match(predicate):
        count = numbers.value(match["count"])
        if count is not None:
            yield Finding("children_count", str(count), 0.9)


def _several(match: re.Match[str]) -> Iterator[Finding]:
    relation = match["rel"].lower()
    if relation in ("kids", "children"):
        yield Finding("children_count", str(numbers.value(match["count"])), 0.9)
    for name in _plain(names.people(match["names"])):
        yield Finding(PLURALS[relation], name, 0.9)


def _some(text: str) -> Iterator[Finding]:
    """Read 'two brothers and a sister': children and siblings without names."""
    for part in re.split(r",? and |, ", phrases.head(text).strip(" .!"))[:_MAX_PARTS]:
        match = _SOME.match(part.strip())
        if match is None:
            return
        key = "children" if match["rel"].lower().startswith(_CHILD_WORDS) else "siblings"
        count = f"{match['count'].lower()} " if match["count"] else ""
        yield Finding(key, f"{count}{match['words'].lower()}", 0.85)


_MAX_PARTS = 6


def _partner(predicate: str) -> Iterator[Finding]:
    if match := _MARRIED_TO.match(predicate):
        for name in _plain([names.person(match["name"])]):
            yield Finding("spouse_name", name, 0.9)
    elif match := _BROKE_UP.match(predicate):
        yield Finding("partner_name", "".join(_plain([names.person(match["name"] or "")])), 0.85, retract=True)
    elif match := _DATING.match(predicate):
        for name in _plain([names.person(match["name"])]):
            yield Finding("partner_name", name, 0.85)


def _relationship(predicate: str) -> Iterator[Finding]:
    match = _STATUS.match(predicate)
    if match is None or _STATUS_REST.match(match["rest"]) is None or _PAST_STATUS.match(predicate):
        return
    yield Finding("relationship_status", match["status"].lower(), 0.9)
