"""Facts as English clauses: 'you live in Lviv', 'your sister works as a nurse'.

The speaker's own words are used when they are short and say the value; otherwise a template of the key; otherwise the
key's words. A plan or an appointment always keeps its own words, because they hold the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mesh.models.phrasing.second_person import second_person
from mesh.models.phrasing.wording import one_line, shortened
from mesh.models.protocols import RecalledItem

_MAX_VALUE_CHARS = 160
_MAX_OWN_WORDS = 8
_TIMED = frozenset({"plan", "appointment"})

_TEMPLATES = {
    "name": ("your name is {v}", "is called {v}"),
    "nickname": ("you like to be called {v}", "likes to be called {v}"),
    "age": ("you are {v}", "is {v}"),
    "birthday": ("your birthday is {v}", "has a birthday on {v}"),
    "birth_year": ("you were born in {v}", "was born in {v}"),
    "nationality": ("you are {v}", "is {v}"),
    "home_city": ("you live in {v}", "lives in {v}"),
    "home_region": ("you live in {v}", "lives in {v}"),
    "home_country": ("you live in {v}", "lives in {v}"),
    "moved_from": ("you moved from {v}", "moved from {v}"),
    "origin": ("you come from {v}", "comes from {v}"),
    "birthplace": ("you were born in {v}", "was born in {v}"),
    "grew_up_in": ("you grew up in {v}", "grew up in {v}"),
    "work_role": ("you work as {a}", "works as {a}"),
    "employer": ("you work for {v}", "works for {v}"),
    "work_field": ("you work in {v}", "works in {v}"),
    "work_status": ("you are {v}", "is {v}"),
    "studies": ("you study {v}", "studies {v}"),
    "school": ("you go to {v}", "goes to {v}"),
    "relationship_status": ("you are {v}", "is {v}"),
    "children_count": ("you have {v} children", "has {v} children"),
    "children": ("you have {a}", "has {a}"),
    "siblings": ("you have {a}", "has {a}"),
    "pets": ("you have {a}", "has {a}"),
    "allergy": ("you are allergic to {v}", "is allergic to {v}"),
    "health_condition": ("you have this condition: {v}", "has this condition: {v}"),
    "diet": ("you are {v}", "is {v}"),
    "avoids": ("you do not have {v}", "does not have {v}"),
    "likes": ("you like {v}", "likes {v}"),
    "dislikes": ("you do not like {v}", "does not like {v}"),
    "hobby": ("your hobby is {v}", "has {v} as a hobby"),
    "language": ("you speak {v}", "speaks {v}"),
    "native_language": ("your native language is {v}", "has {v} as a native language"),
    "owns": ("you own {a}", "owns {a}"),
    "goal": ("your goal is to {v}", "wants to {v}"),
    "plan": ("you plan to {v}", "plans to {v}"),
    "appointment": ("you have an appointment: {v}", "has an appointment: {v}"),
    "spouse_name": ("you are married to {v}", "is married to {v}"),
}
_DIET_NOUNS = frozenset({"vegetarian", "vegan", "pescatarian", "flexitarian", "carnivore"})
_TAKES_ARTICLE = re.compile(r"[a-z][a-z '-]*", re.IGNORECASE)
_PLURAL_OR_COUNTED = re.compile(
    r"(?:a|an|the|two|three|four|five|six|seven|several|my|your|some|\d+)\b|.*(?<!s)s$", re.IGNORECASE
)
_VOWEL = re.compile(r"[aeiou]", re.IGNORECASE)
_LOCATIVE_ARTICLE = re.compile(
    r"(?:netherlands|united|u[ks]a?\b|philippines|bahamas|maldives|czech republic)", re.IGNORECASE
)


def clause(fact: RecalledItem) -> str:
    """Return a fact as a clause without a capital or a full stop, such as 'you live in Lviv'."""
    if fact.subject in ("", "user"):
        return _own_words(fact) or _second(fact)
    return _third(fact)


def clauses(facts: Sequence[RecalledItem]) -> list[str]:
    """Return facts as clauses, each once; what the speaker's own words for another fact say already is left out."""
    found: list[str] = []
    told: dict[str, str] = {}
    for fact in facts:
        own = told.get(fact.text)
        if own is not None and fact.value.casefold() in own.casefold():
            continue
        words = clause(fact)
        if fact.text and words == _own_words(fact):
            told[fact.text] = words
        if words not in found:
            found.append(words)
    return found


def _own_words(fact: RecalledItem) -> str:
    words = second_person(fact.text)
    if not words or fact.value.casefold() not in words.casefold():
        return words if fact.key in _TIMED else ""
    short = words.count(" ") < _MAX_OWN_WORDS
    return words if short or fact.key in _TIMED else ""


def _second(fact: RecalledItem) -> str:
    value = shortened(fact.value, _MAX_VALUE_CHARS)
    if fact.key in _TEMPLATES:
        return _filled(_TEMPLATES[fact.key][0], fact.key, value)
    return f"your {_noun(fact.key)} is {value}"


def _third(fact: RecalledItem) -> str:
    value = shortened(fact.value, _MAX_VALUE_CHARS)
    person = _person(fact.subject)
    if fact.key in _TEMPLATES:
        return f"{person} {_filled(_TEMPLATES[fact.key][1], fact.key, value)}"
    return f"{person}'s {_noun(fact.key)} is {value}"


def _filled(template: str, key: str, value: str) -> str:
    shown = value
    if key.startswith("home_") and _LOCATIVE_ARTICLE.match(value):
        shown = f"the {value}"
    elif key == "diet" and value.casefold() in _DIET_NOUNS:
        shown = _with_article(value)
    return template.replace("{a}", _with_article(value)).replace("{v}", shown)


def _with_article(value: str) -> str:
    if _PLURAL_OR_COUNTED.match(value) or _TAKES_ARTICLE.fullmatch(value) is None:
        return value
    return f"{'an' if _VOWEL.match(value) else 'a'} {value}"


def _noun(key: str) -> str:
    """Return a key as a noun: 'pet_dog' is 'dog', 'favorite_color' is 'favourite color'."""
    words = one_line(key.replace("_", " ")).strip()
    if words.startswith("favorite "):
        return f"favourite {words.removeprefix('favorite ')}"
    return words.removeprefix("pet ").removesuffix(" name") or "note"


def _person(subject: str) -> str:
    """Return a subject as a person: 'user.sister' is 'your sister', 'user.friend.mark' is 'your friend Mark'."""
    parts = [one_line(part.replace("_", " ")) for part in subject.split(".") if part]
    if parts and parts[0] == "user":
        relation, name = "".join(parts[1:2]), "".join(parts[2:3])
        return f"your {relation or 'own'} {name.title()}".strip()
    return " ".join(part.title() for part in parts) or "somebody"
