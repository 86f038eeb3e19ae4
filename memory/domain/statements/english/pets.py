"""Pets: their names by species, and pets whose names were not said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from memory.domain.statements.english import names, phrases
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding

_SPECIES = {
    "dog": "dog puppy pup doggo labrador lab retriever poodle corgi husky beagle dachshund shepherd bulldog "
    "pug collie terrier "
    "chihuahua spaniel dalmatian rottweiler doberman boxer samoyed shiba greyhound whippet akita malamute schnauzer "
    "maltese pomeranian mutt labradoodle setter",
    "cat": "cat kitten kitty tomcat tabby siamese sphynx ragdoll shorthair",
    "parrot": "parrot cockatiel budgie parakeet cockatoo macaw lovebird",
    "bird": "bird canary finch",
    "hamster": "hamster",
    "rabbit": "rabbit bunny",
    "guinea_pig": "guinea-pig",
    "horse": "horse pony mare",
    "fish": "fish goldfish betta",
    "turtle": "turtle tortoise terrapin",
    "snake": "snake python",
    "lizard": "lizard gecko iguana chameleon",
    "ferret": "ferret",
    "rat": "rat",
    "mouse": "mouse",
    "goat": "goat",
    "chicken": "chicken hen",
    "hedgehog": "hedgehog",
    "chinchilla": "chinchilla",
}
_KEY_OF = {word: f"pet_{species}" for species, words in _SPECIES.items() for word in words.split()}
_NUMBERS = r"(?:two|three|four|five|six|seven|\d{1,2}|several)"

_WORD = "|".join(sorted((word.replace("-", "[- ]") for word in _KEY_OF), key=len, reverse=True))
_ADJECTIVES = r"(?:[\w-]+ ){0,3}?"
_PET = rf"{_ADJECTIVES}(?P<pet>{_WORD})"

_IN_PASSING = re.compile(rf"(?i:\b(?:my|our) {_PET},?(?: called| named)? )(?P<name>[^\W\d_].*)")
_NAME_OF = re.compile(
    rf"(?:my|our) {_PET}(?:'s name is|'s name's|'s called|'s named| is (?:called|named)) (?P<name>.+)", re.IGNORECASE
)
_ARE_NAMED = re.compile(rf"(?:my|our) {_PET}s(?:'? names)? are(?: called| named)? (?P<names>.+)", re.IGNORECASE)
_IS = re.compile(rf"(?P<name>.{{2,40}}?) is (?:my|our) {_PET}$", re.IGNORECASE)
_HAVE_NAMED = re.compile(
    rf"(?:have|own|am the owner of|adopted|have adopted|got|bought|rescued|have rescued|welcomed) (?:an?|one|our "
    rf"first|my first) {_PET}(?:,? (?:called|named|whose name is) |,? (?=(?-i:[^\W\d_a-z])))(?P<name>.+)",
    re.IGNORECASE,
)
_ALSO_NAMED = re.compile(
    rf"(?:,|and) (?:an?|one) {_PET}(?: (?:called|named) |,? (?=(?-i:[^\W\d_a-z])))(?P<name>.+)", re.IGNORECASE
)
_ALSO_NAMELESS = re.compile(
    rf"(?:,|and) (?:(?P<count>{_NUMBERS}) |an? )(?P<words>{_ADJECTIVES}(?P<pet>{_WORD}))(?P<plural>e?s)?[ .!]*$",
    re.IGNORECASE,
)
_HAVE = re.compile(
    rf"(?:have|own|adopted|have adopted|got|rescued) (?:(?P<count>{_NUMBERS}) |an? |one "
    rf")(?P<words>{_ADJECTIVES}(?P<pet>{_WORD}))(?P<plural>e?s)?(?P<rest>$|[ ,.!].*)",
    re.IGNORECASE,
)
_GONE = re.compile(
    rf"(?:my|our) {_PET}(?:,? (?P<name>[^\W\d_][\w'-]{{1,20}}),?)? (?:has )?(?:just )?(?:passed away|died|ran away"
    rf"|is dead|is gone|was put down)\b",
    re.IGNORECASE,
)
_NO_MORE = re.compile(rf"(?:no longer have|don't have) (?:an?|the|my|any) {_PET}s?\b(?P<rest>.*)", re.IGNORECASE)
_LONGER = re.compile(r"\b(?:no longer|any ?more|any longer)\b", re.IGNORECASE)
_OTHERS = re.compile(
    r"'s? |\b(?:toy|hot|stuffed|computer|food|bed|person|lover|walker|sitter|allergy|trap)\b", re.IGNORECASE
)
_EXCLUDED_AFTER = re.compile(
    r" (?:person|lover|allergy|toy|food|bed|walker|sitter|phobia|trap|pad|to )\b", re.IGNORECASE
)


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield the speaker's pets."""
    if gone := list(_gone(clause)):
        yield from gone
        return
    yield from _named(clause.text)
    if clause.who == "user":
        yield from _has(clause.predicate)


def _named(text: str) -> Iterator[Finding]:
    if several := _ARE_NAMED.match(text):
        key = _KEY_OF[several["pet"].lower().replace(" ", "-")]
        yield from (Finding(key, name, 0.95, of_speaker=True) for name in names.people(several["names"]))
        return
    match = _NAME_OF.match(text)
    if match is None and (match := _IS.match(text)) and names.person(match["name"]) != match["name"]:
        match = None
    match = match or _IN_PASSING.search(text)
    if match is not None and _OTHERS.search(match[0][: match.start("pet") - match.start()]) is None:
        # The pet is named in passing, so a date in the clause tells of something else: 'we moved in March with my dog'.
        yield from (replace(finding, undated=True) for finding in _one(match["pet"], match["name"], 0.95))


def _one(word: str, text: str, confidence: float) -> Iterator[Finding]:
    key = _KEY_OF[word.lower().replace(" ", "-")]
    found = names.people(text)[:2] if " and " in text else [names.person(text)]
    for name in found:
        if name:
            yield Finding(key, name, confidence, of_speaker=True)


def _has(predicate: str) -> Iterator[Finding]:
    found: list[Finding] = []
    if match := _HAVE_NAMED.match(predicate):
        found += _one(match["pet"], match["name"], 0.95)
        for more in _ALSO_NAMED.finditer(match["name"]):
            found += _one(more["pet"], more["name"], 0.95)
        if found and (nameless := _ALSO_NAMELESS.search(match["name"])):
            found += _nameless(nameless)
    if not found and (match := _HAVE.match(predicate)) and _EXCLUDED_AFTER.match(match["rest"]) is None:
        found += _nameless(match)
        if second := _ALSO_NAMELESS.search(match["rest"]):
            found += _nameless(second)
    yield from found


def _nameless(match: re.Match[str]) -> Iterator[Finding]:
    words = phrases.clean(match["words"]).lower()
    if words:
        count = f"{match['count'].lower()} " if match["count"] else ""
        yield Finding("pets", f"{count}{words}{match['plural'] or ''}", 0.85)


def _gone(clause: Clause) -> Iterator[Finding]:
    if match := _GONE.match(clause.text):
        yield Finding(
            _KEY_OF[match["pet"].lower().replace(" ", "-")], match["name"] or "", 0.9, retract=True, of_speaker=True
        )
    elif clause.who == "user" and (match := _NO_MORE.match(clause.predicate)) and _LONGER.search(match[0]):
        yield Finding(_KEY_OF[match["pet"].lower().replace(" ", "-")], "", 0.85, retract=True)
