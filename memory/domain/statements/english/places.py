"""Where people live, moved to and come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import names, words_places
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding

_QUALIFIER = (
    r"(?:(?:the|beautiful|sunny|rainy|lovely|downtown|central|northern|southern|eastern|western|city of|town of"
    r"|village of|a (?:small |little |tiny |big )?(?:town|city|village)(?: in \w+)? (?:called|named)) )*"
)
_LIVES = re.compile(
    rf"(?:live|reside|am living|am based|am located|am settled|settled(?: down)?|have (?:lived|been living|been "
    rf"based|settled))(?: (?:alone|together|happily|here))? in (?P<place>{_QUALIFIER}.+)",
    re.IGNORECASE,
)
_MOVED = re.compile(
    rf"(?:have )?(?:moved|relocated)(?: back| over| here| out| away)?(?: with my \w+)?(?: from "
    rf"(?P<origin>.{{1,60}}?))? to (?P<place>{_QUALIFIER}.+)",
    re.IGNORECASE,
)
_SOMEBODY_LIVING = re.compile(
    rf"am an? [\w' -]{{2,80}}? (?:living|based|located) in (?P<place>{_QUALIFIER}.+)", re.IGNORECASE
)
_MOVED_INTO = re.compile(
    r"(?:have )?moved (?:in)?to (?:my|our|an?|the) (?:[\w-]+ ){0,3}(?:flat|apartment|house|home|place|studio|condo"
    r"|room) in (?P<place>.+)",
    re.IGNORECASE,
)
_LEFT_PLACE = re.compile(
    r"(?:no longer (?:live|reside) in|used to live in|(?:have )?moved (?:away from|out of))(?: the)? (?P<place>.+)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:don't live|am not living|don't reside) in(?: the)? (?P<place>.+)", re.IGNORECASE)
_ANY_MORE = re.compile(r"\b(?:any ?more|any longer|these days|now)\b", re.IGNORECASE)
_ORIGIN = re.compile(rf"(?:am|come|hail)(?: originally)? from (?P<place>{_QUALIFIER}.+)", re.IGNORECASE)
_BORN = re.compile(r"was born (?P<both>and (?:raised|grew up) )?in (?P<place>.+)", re.IGNORECASE)
_GREW = re.compile(r"(?:grew up|was raised|was brought up) in (?P<place>.+)", re.IGNORECASE)
_TEMPORARY = re.compile(
    r"\b(?:for (?:the (?:summer|winter|spring|autumn|week|weekend|holidays?|month|semester|time being|night)|a "
    r"(?:few|couple|week|month|while|night)|now)|temporarily|until|on holiday|on vacation|at weekends)\b",
    re.IGNORECASE,
)
_FROM = re.compile(r",? from (?P<place>.+)", re.IGNORECASE)
_SECOND = re.compile(r", ?(?:in )?(?:the )?(?P<place>.+)", re.IGNORECASE)
_STRIPPED = re.compile(_QUALIFIER, re.IGNORECASE)
_HOMETOWN = frozenset({"hometown", "home town", "native city", "native town", "birthplace", "place of birth"})
_HOME = frozenset({"home", "current home", "home city", "current city", "city", "location", "current location"})
_MAX_GAZETTEER_WORDS = 4


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield where the clause's subject lives, left or comes from."""
    if clause.who == "it":
        yield from _by_noun(clause)
        return
    predicate = clause.predicate
    if match := _LIVES.match(predicate):
        if _TEMPORARY.search(predicate) is None:
            yield from homes(match["place"])
    elif match := _SOMEBODY_LIVING.match(predicate) or _MOVED_INTO.match(predicate):
        yield from homes(match["place"])
    elif match := _MOVED.match(predicate):
        yield from _moved(match)
    elif (match := _LEFT_PLACE.match(predicate)) or (
        (match := _DENIED.match(predicate)) and _ANY_MORE.search(predicate)
    ):
        if place := proper_place(match["place"]):
            yield Finding(_home_key(place), place, 0.9, retract=True)
    else:
        yield from _origins(predicate)


def homes(text: str) -> Iterator[Finding]:
    """Yield the city, region or country that a text begins with, and the country named after it."""
    text = _unqualified(text)
    place = proper_place(text)
    if not place:
        return
    yield Finding(_home_key(place), place, 0.95)
    second = _SECOND.match(text[len(place) :])
    wider = proper_place(second["place"]) if second else ""
    if wider and _home_key(wider) not in ("home_city", _home_key(place)):
        yield Finding(_home_key(wider), wider, 0.9)


def proper_place(text: str) -> str:
    """Return the place that a text begins with: a proper name, or a known place typed in lower case."""
    text = _unqualified(text)
    name = names.proper(text)
    if name:
        return "" if name.rsplit(" ", 1)[-1].lower() in words_places.NOT_HOMES else name
    words = [word.strip(".,!") for word in text.split(" ")[:_MAX_GAZETTEER_WORDS]]
    for length in range(len(words), 0, -1):
        candidate = " ".join(words[:length])
        if candidate in words_places.CITIES or (candidate in words_places.COUNTRIES and len(candidate) > _CODE_LENGTH):
            return " ".join(names.titled(word) for word in words[:length])
    return ""


def origin(text: str) -> str:
    """Return the place that somebody is 'from', or an empty text when it is an employer ('I'm Ann from Google')."""
    place = proper_place(text)
    return "" if place.lower() in words_places.COMPANIES else place


def _unqualified(text: str) -> str:
    """Return a place without what stands before its name: 'the beautiful city of Lviv' gives 'Lviv'."""
    match = _STRIPPED.match(text)
    return text[match.end() :] if match else text


_CODE_LENGTH = 3


def _home_key(place: str) -> str:
    lower = place.lower().strip(".")
    if lower in words_places.COUNTRIES:
        return "home_country"
    return "home_region" if lower in words_places.REGIONS else "home_city"


def _moved(match: re.Match[str]) -> Iterator[Finding]:
    found = list(homes(match["place"]))
    yield from found
    if not found:
        return
    origin = match["origin"] or ""
    if not origin and (after := _FROM.match(match["place"][len(found[0].value) :])):
        origin = after["place"]
    if left := proper_place(origin):
        yield Finding("moved_from", left, 0.9)


def _origins(predicate: str) -> Iterator[Finding]:
    if match := _ORIGIN.match(predicate):
        if place := origin(match["place"]):
            yield Finding("origin", place, 0.9)
    elif match := _BORN.match(predicate):
        if place := proper_place(match["place"]):
            yield Finding("birthplace", place, 0.95)
            if match["both"]:
                yield Finding("grew_up_in", place, 0.95)
    elif (match := _GREW.match(predicate)) and (place := proper_place(match["place"])):
        yield Finding("grew_up_in", place, 0.95)


def _by_noun(clause: Clause) -> Iterator[Finding]:
    if clause.noun in _HOMETOWN and (place := proper_place(clause.predicate)):
        yield Finding("birthplace" if "birth" in clause.noun else "origin", place, 0.9)
    elif clause.noun in _HOME:
        yield from homes(clause.predicate.removeprefix("in "))
