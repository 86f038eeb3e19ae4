"""Lasting things that people own: vehicles, homes, instruments; from a closed list of nouns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import names, phrases
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding
from memory.domain.statements.word_list import words

_OWNED = words(
    """
    car bike bicycle motorbike motorcycle scooter vespa van truck boat yacht camper campervan caravan tesla house flat
    apartment
    cottage cabin farm garden greenhouse allotment piano guitar violin cello drum drums keyboard camera telescope drone
    laptop
    macbook printer kiln loom kayak surfboard tractor ukulele saxophone flute tent jeep skateboard e-bike moped
    record-player
    """
)
_BRANDS = words(
    """
    skoda toyota honda ford volkswagen vw bmw audi mercedes tesla volvo renault peugeot citroen fiat opel mazda nissan
    hyundai kia
    subaru suzuki jeep porsche lada vespa harley yamaha ducati mini seat dacia lexus chevrolet steinway fender gibson
    """
)
_HAS = re.compile(r"(?:own|have|bought|have bought|got|drive|ride) (?:an?|my own|our own) (?P<what>.+)", re.IGNORECASE)
_SOLD = re.compile(r"(?:have )?sold (?:my|our|the) (?P<what>.+)", re.IGNORECASE)
_END = re.compile(
    r"(?:,| (?:in|at|from|for|with|that|which|and|to|on|last|this|yesterday|today|by|called|near|so|who|because|of"
    r"|now)\b|[.!?;(–])",
    re.IGNORECASE,
)
_RENTED = re.compile(r"\b(?:rental|rented|hire|toy|model|company)\b", re.IGNORECASE)


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield what the speaker owns, bought or sold."""
    if clause.who != "user":
        return
    if (match := _HAS.match(clause.predicate)) and (thing := _thing(match["what"])):
        yield Finding("owns", thing, 0.85)
    elif (match := _SOLD.match(clause.predicate)) and (thing := _thing(match["what"])):
        yield Finding("owns", thing, 0.85, retract=True)


def _thing(text: str) -> str:
    end = _END.search(text)
    value = phrases.clean(text[: end.start()] if end else text)
    words = value.lower().split(" ")
    known = words[-1] in _OWNED or any(word in _BRANDS for word in words)
    return value if known and _RENTED.search(value) is None and not names.proper(value).endswith("'s") else ""
