"""Who people are: names, age, birthday, nationality, languages, how to reach them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import (
    dates,
    names,
    numbers,
    phrases,
    places,
    words_places,
    words_speech,
    words_work,
)
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding
from memory.domain.statements.word_list import words

_NAME_NOUNS = frozenset({"name", "first name", "full name", "real name", "given name"})
_CALL_ME = re.compile(
    r"(?:(?:you|people|everyone|everybody|friends|my friends|most people|they|folks|my family)"
    r"(?: can| may| could| should| all| usually| always| just| mostly)* )?(?:please )?(?:just )?calls? me (?P<name>.+)",
    re.IGNORECASE,
)
_GOES_BY = re.compile(r"(?:go by|am known as)(?: the name)? (?P<name>.+)", re.IGNORECASE)
_IS_CALLED = re.compile(r"am called (?P<name>.+)", re.IGNORECASE)
_THE_NAME = re.compile(r"(?:the )?name(?:'s| is|:) (?P<name>.+)", re.IGNORECASE)
_AM = re.compile(r"am (?P<rest>.+)", re.IGNORECASE)
_AFTER_NAME = re.compile(r"$|,|\.|!| from\b| by the way| btw| here\b| \(| and\b| speaking\b| again\b", re.IGNORECASE)
_LOWER_NAME = re.compile(r"([^\W\d_]{2,20}(?:[-'][^\W\d_]{1,20})?)(?: ([^\W\d_]{2,20}))?$")
_NOT_LOWER_NAMES = words(
    """
    not on in at a an the my your spelled spelt pronounced common rare unusual weird boring hard difficult easy long
    short
    important nice pretty unique foreign too very so no none secret unknown what and still also really private mud
    legion
    """
)

_AGE_NUMBER = r"(?P<age>\d{1,3}|[a-z]+(?:[- ][a-z]+)?)"
_AGE = re.compile(
    rf"(?:am {_AGE_NUMBER}(?: years? old| yrs? old| y/?o| years? of age)?(?: now| today| this year)?"
    rf"|(?:have )?turned {_AGE_NUMBER.replace('?P<age>', '?P<turned>')}\b.*)$",
    re.IGNORECASE,
)
_AGED = re.compile(r"am an? (?P<age>\d{1,3})[- ]years?[- ]old\b", re.IGNORECASE)
MAX_AGE = 120

_DAY_MONTH = re.compile(
    r"(?P<day>\d{1,2})(?:st|[nr]d|th)?(?: of)? (?P<month>[a-z]{3,9})\.?,?(?: (?P<year>(?:19|20)\d\d))?\b"
    r"|(?P<month2>[a-z]{3,9})\.? (?:the )?(?P<day2>\d{1,2})(?:st|[nr]d|th)?,?(?: (?P<year2>(?:19|20)\d\d))?\b",
    re.IGNORECASE,
)
_MONTHS = {
    name[:3].lower(): name
    for name in (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    )
}  # fmt: skip
_BIRTHDAY_NOUNS = frozenset({"birthday", "birth date", "date of birth", "birthdate", "bday", "b-day"})
_MY_BIRTHDAY = re.compile(r"(?:it's|it is|today is|tomorrow is) my birthday(?P<rest>.*)", re.IGNORECASE)
_BORN_ON = re.compile(r"was born (?:on )?(?:the )?(?P<rest>.+)", re.IGNORECASE)
_BORN_IN_YEAR = re.compile(r"was born (?:back )?in (?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)

_NATIONALITY = re.compile(r"am (?:a proud |proudly |originally )?(?P<word>[a-z]+)(?: by birth)?$", re.IGNORECASE)
_SPEAKS = re.compile(
    r"(?:can )?(?:speak|am fluent in|am bilingual in)(?: fluent| fluently| good| native)? (?P<list>.+)", re.IGNORECASE
)
_NATIVE = frozenset({"native language", "mother tongue", "first language", "native tongue"})
_LEVEL = re.compile(r"^(?:a little(?: bit of)?|some|basic|fluent|a bit of|good|native|conversational) ", re.IGNORECASE)

_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,120}\.[A-Za-z]{2,24}\b")
_PHONE = re.compile(r"\+?\d[\d ()-]{5,20}\d")
_EMAIL_NOUNS = frozenset({"email", "e-mail", "email address", "e-mail address", "mail"})
_PHONE_NOUNS = frozenset({"phone", "phone number", "number", "mobile", "mobile number", "cell", "telephone number"})
_ZONE_NOUNS = frozenset({"time zone", "timezone"})
_IN_ZONE = re.compile(r"am (?:in|on) (?:the )?(?P<zone>\w[\w/+:-]{1,30})(?: standard)? time ?zone\b", re.IGNORECASE)
_HEIGHT = re.compile(
    r"am (?P<height>\d{2,3} ?cm|\d(?:[.,]\d{1,2}) ?m(?:eters|etres)?|\d'\d{1,2}\"?)(?: tall)\b", re.IGNORECASE
)
_MEASURES = {"shoe size": "shoe_size", "blood type": "blood_type", "star sign": "star_sign", "zodiac sign": "star_sign"}
_MAX_MEASURE_CHARS = 20


def find(clause: Clause, today: date) -> Iterator[Finding]:
    """Yield who the clause's subject is."""
    yield from _passing(clause, today)
    if clause.who == "it":
        yield from _by_noun(clause, today)
        return
    yield from _age(clause.predicate)
    yield from _birth(clause.predicate)
    yield from _speech(clause.predicate)
    if clause.who == "user" and not clause.plural:
        yield from _named(clause.predicate)
    if match := _HEIGHT.match(clause.predicate):
        yield Finding("height", match["height"], 0.9)
    if match := _IN_ZONE.match(clause.predicate):
        yield Finding("timezone", match["zone"], 0.9)


def is_plain_name(name: str) -> bool:
    """Tell whether a capitalised word can be a personal name: no nationality, language, place or occupation."""
    lower = name.lower()
    known = (words_speech.NATIONALITIES, words_speech.LANGUAGES, words_speech.RELIGIONS, words_places.COUNTRIES,
             words_work.OCCUPATIONS)  # fmt: skip
    return bool(name) and not any(lower in words for words in known)


def _passing(clause: Clause, today: date) -> Iterator[Finding]:
    """Read what needs no subject of ours: 'call me Liv', 'the name's Fatima', 'it's my birthday today'."""
    if (match := _CALL_ME.match(clause.text)) and (name := _whole_name(match["name"])):
        yield Finding("nickname", name, 0.9, of_speaker=True)
    elif (match := _THE_NAME.match(clause.text)) and (name := _whole_name(match["name"])):
        yield Finding("name", name, 0.9, of_speaker=True)
    elif match := _MY_BIRTHDAY.match(clause.text):
        hit = dates.find(clause.text, today, "future")
        day = hit.day if hit else today
        yield Finding("birthday", _day_name(day), 0.85, of_speaker=True)


def _named(predicate: str) -> Iterator[Finding]:
    if (match := _GOES_BY.match(predicate)) and (name := _whole_name(match["name"])):
        yield Finding("nickname", name, 0.9)
    elif (match := _IS_CALLED.match(predicate)) and (name := _whole_name(match["name"])):
        yield Finding("name", name, 0.9)
    elif match := _AM.match(predicate):
        name = _whole_name(match["rest"])
        if name:
            yield Finding("name", name, 0.85)
            yield from _origin_after(match["rest"][len(name) :])


def _origin_after(rest: str) -> Iterator[Finding]:
    if rest.startswith(" from ") and (place := places.origin(rest.removeprefix(" from "))):
        yield Finding("origin", place, 0.85)


def _whole_name(text: str) -> str:
    """Return the name that a text begins with when nothing follows that would make it something else."""
    name = names.person(text)
    if not is_plain_name(name) or _AFTER_NAME.match(text[len(name) :]) is None:
        return ""
    return name


def _by_noun(clause: Clause, today: date) -> Iterator[Finding]:
    noun, value = clause.noun, clause.predicate
    if noun in _NAME_NOUNS:
        if name := _whole_name(value) or _lower_name(value):
            yield Finding("name", name, 0.95)
    elif noun in _BIRTHDAY_NOUNS:
        yield from _birthday(value, today)
    elif noun in _NATIVE:
        yield from (Finding("native_language", word, 0.95) for word in _languages(value)[:1])
    elif noun in _EMAIL_NOUNS and (match := _EMAIL.search(value)):
        yield Finding("email", match[0], 0.95)
    elif noun in _PHONE_NOUNS and (match := _PHONE.search(value)):
        yield Finding("phone", match[0], 0.9)
    elif noun in _ZONE_NOUNS:
        yield from (Finding("timezone", zone, 0.9) for zone in [phrases.one(value)] if zone)
    elif noun in _MEASURES and len(value) <= _MAX_MEASURE_CHARS and (measure := value.strip(" .!")):
        yield Finding(_MEASURES[noun], measure, 0.9)


def _lower_name(value: str) -> str:
    match = _LOWER_NAME.match(value.split(",", 1)[0].strip(" .!"))
    if match is None or match[1].lower() in _NOT_LOWER_NAMES or not match[1].islower() or not is_plain_name(match[1]):
        return ""
    return " ".join(names.titled(part) for part in match.groups() if part)


def _age(predicate: str) -> Iterator[Finding]:
    match = _AGED.match(predicate) or _AGE.match(predicate.rstrip(" .!,"))
    if match is None:
        return
    words = match["age"] or match.groupdict().get("turned") or ""
    age = numbers.value(words)
    if age is not None and 0 < age <= MAX_AGE:
        yield Finding("age", str(age), 0.9)


def _birth(predicate: str) -> Iterator[Finding]:
    if match := _BORN_IN_YEAR.match(predicate):
        yield Finding("birth_year", match["year"], 0.95)
    elif (match := _BORN_ON.match(predicate)) and (day := _day_month(match["rest"])):
        yield Finding("birthday", day, 0.95)


def _birthday(value: str, today: date) -> Iterator[Finding]:
    if day := _day_month(value.removeprefix("on ").removeprefix("the ")):
        yield Finding("birthday", day, 0.95)
    elif (hit := dates.find(value, today, "future")) and hit.start == 0:
        yield Finding("birthday", _day_name(hit.day), 0.85)


def _day_name(day: date) -> str:
    return f"{day.day} {list(_MONTHS.values())[day.month - 1]}"


def _day_month(text: str) -> str:
    match = _DAY_MONTH.match(text)
    if match is None:
        return ""
    month = _MONTHS.get((match["month"] or match["month2"])[:3].lower())
    day = int(match["day"] or match["day2"])
    if month is None or not 1 <= day <= _MONTH_DAYS:
        return ""
    year = match["year"] or match["year2"]
    return f"{day} {month} {year}" if year else f"{day} {month}"


_MONTH_DAYS = 31


def _speech(predicate: str) -> Iterator[Finding]:
    if (match := _NATIONALITY.match(predicate.rstrip(" .!"))) and match["word"].lower() in words_speech.NATIONALITIES:
        yield Finding("nationality", names.titled(match["word"]), 0.85)
    elif match := _SPEAKS.match(predicate):
        yield from (Finding("language", word, 0.9) for word in _languages(match["list"]))


def _languages(text: str) -> list[str]:
    found = []
    for item in re.split(r",? and |, |,? or | & ", text)[:_MAX_LANGUAGES]:
        words = _LEVEL.sub("", item.strip(" .!")).split(" ")
        if words[0].lower() in words_speech.LANGUAGES:
            found.append(names.titled(words[0]))
    return found


_MAX_LANGUAGES = 10
