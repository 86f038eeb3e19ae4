"""What a Ukrainian clause states: one function for each subject, tried in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.statement import Finding
from memory.domain.statements.ukrainian import dates, forms, words_places, words_work
from memory.domain.statements.ukrainian.clauses import Clause

_NAMED = re.compile(r"(?:мене (?:звати|звуть)|(?:звати|звуть) мене|моє ім'я)\s*(?:–\s*)?(?P<name>.+)", re.IGNORECASE)
_CALL_ME = re.compile(
    r"(?:(?:можеш|можете|всі|друзі) )?(?:називай|називайте|називати|називають|клич|кличте|кличуть|звіть) мене "
    r"(?P<name>.+)",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"(?:живу|живемо|мешкаю|мешкаємо|проживаю|оселився|оселилася|оселилась|оселилися) "
    r"(?:[ув]|у місті|в місті) (?P<place>.+)",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"(?P<verb>переїхав|переїхала|переїхали|перебрався|перебралася)(?: (?:з|із) (?P<origin>[\w'-]+))? (?:до|в|у) "
    r"(?P<place>.+)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(r"(?:більше|вже|уже) не (?:живу|живемо|мешкаю|проживаю) (?:[ув]) (?P<place>.+)", re.IGNORECASE)
_FROM = re.compile(r"(?:родом )?(?:з|із|зі) (?P<place>[\w'-]+(?: [А-ЯҐЄІЇ][\w'-]+)?)", re.IGNORECASE)
_BORN = re.compile(r"(?:народився|народилася|народилась) [ув] (?P<place>.+)", re.IGNORECASE)
_GREW = re.compile(r"(?:виріс|виросла) [ув] (?P<place>.+)", re.IGNORECASE)
_WORKS = re.compile(r"(?:працюю|влаштувався|влаштувалася)(?P<rest> .+)", re.IGNORECASE)
_WORKS_NO_MORE = re.compile(r"(?:більше|вже|уже) не працюю (?:[ув]|на) (?P<place>.+)", re.IGNORECASE)
_EMPLOYER = re.compile(
    r"(?:^| )(?:[ув]|на|для) (?:компанії |фірмі )?(?P<name>\"[^\"]{2,40}\"|[A-Z][\w.&-]{1,30}(?: [A-Z][\w.&-]{1,30})?)",
    re.IGNORECASE,
)
_JOB = re.compile(
    r"(?:моя (?:робота|професія)|за професією|за фахом)\s*(?:я\s*)?(?:–\s*)?(?P<role>[\w'-]+)", re.IGNORECASE
)
_AGE = re.compile(
    r"мені (?:зараз |вже |уже |виповнилося |виповнилось )*(?P<age>\d{1,3}) (?:рік|роки|років)\b", re.IGNORECASE
)
_BIRTHDAY = re.compile(r"(?:мій|у мене|в мене) день народження\s*(?:–\s*|у мене |в мене )?(?P<day>.+)", re.IGNORECASE)
_SPEAKS = re.compile(r"(?:розмовляю|говорю|володію) (?P<list>.+)", re.IGNORECASE)
_STATUS = re.compile(
    r"(?P<status>одружений|одружена|неодружений|неодружена|заміжня|незаміжня|розлучений|розлучена|вдівець|вдова)$",
    re.IGNORECASE,
)
_DIET = re.compile(r"(?P<diet>вегетаріанець|вегетаріанка|веган|веганка|пескетаріанець|пескетаріанка)$", re.IGNORECASE)
_ALLERGY = re.compile(
    r"(?:[ув] мене|маю|мій|моя|є)(?: є| дуже| сильна| сильну)* алергі[яю] на (?P<list>.+)", re.IGNORECASE
)
_CANNOT_EAT = re.compile(r"не можу їсти (?P<list>.+)|мені не можна (?:їсти )?(?P<list2>.+)", re.IGNORECASE)
_ALLERGENS = re.compile(
    r"(?:арахіс|горіхи?|волоські горіхи|фундук|мигдаль|глютен|молоко|молочне|лактоза|яйця|соя|риба|морепродукти"
    r"|креветки|полуниця|мед|цитрусові|шоколад|пшениця|кунжут|селера|помідори)",
    re.IGNORECASE,
)
_DOES_NOT_EAT = re.compile(r"не (?:їм|п'ю|вживаю) (?P<list>.+)", re.IGNORECASE)
_EDIBLE = re.compile(
    r"(?:.* )?(?:м'ясо|риба|молоко|свинина|яловичина|цукор|глютен|хліб|сир|яйця|горіхи|солодке|алкоголь|кава|курка"
    r"|арахіс|цибуля|гриби|гостре|мед|лактоза|морепродукти|молочне|смажене|часник)$",
    re.IGNORECASE,
)
_LIKES = re.compile(r"(?:люблю|обожнюю|захоплююся|полюбляю) (?P<list>.+)", re.IGNORECASE)
_PLEASES = re.compile(r"мені (?:дуже |страшенно |справді )*подоба(?:ється|ються) (?P<list>.+)", re.IGNORECASE)
_DISLIKES = re.compile(
    r"(?:не люблю|ненавиджу|терпіти не можу|не переношу|не терплю|не подобається) (?P<list>.+)|мені не "
    r"подоба(?:ється|ються) (?P<list2>.+)",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:мій|моя|моє|мої) улюблен(?:ий|а|е|і) (?P<noun>[\w'-]+)\s*(?:–\s*|це\s+|: ?)?(?P<value>.+)", re.IGNORECASE
)
_FAVOURITE_NOUNS = {
    "страва": "dish", "колір": "color", "книга": "book", "книжка": "book", "фільм": "movie", "їжа": "food",
    "музика": "music",
    "місто": "city", "гурт": "band", "пісня": "song", "напій": "drink", "свято": "holiday", "серіал": "tv_show",
    "письменник": "writer",
    "письменниця": "writer", "спорт": "sport", "гра": "game", "квітка": "flower", "пора": "season",
    "десерт": "dessert", "поет": "poet",
}  # fmt: skip
_HOBBY = re.compile(
    r"(?:моє (?:хобі|захоплення))\s*(?:–\s*)?(?P<list>.+)|граю (?:на|в|у) (?P<list2>[\w' -]+)", re.IGNORECASE
)
_PLAN = re.compile(
    r"(?P<verb>лечу|летимо|їду|їдемо|вилітаю|вирушаю|переїжджаю|переїжджаємо)(?P<rest> .+)", re.IGNORECASE
)
_MAX_AGE = 120


def find(clause: Clause, today: date) -> Iterator[Finding]:
    """Yield what the speaker states about themselves in a clause."""
    for rule in (_who, _where, _work, _person, _food, _taste):
        yield from rule(clause)
    yield from _plan(clause, today)


def _who(clause: Clause) -> Iterator[Finding]:
    if match := _NAMED.match(clause.text):
        if name := _whole_name(match["name"]):
            yield Finding("name", name, 0.95)
    elif match := _CALL_ME.match(clause.text):
        if name := forms.proper(match["name"]):
            yield Finding("nickname", name, 0.9)
    elif clause.explicit and (name := _whole_name(clause.predicate)) and clause.text[:1].lower() == "я":
        yield Finding("name", name, 0.85)


def _whole_name(text: str) -> str:
    """Return the personal name that a text begins with when nothing else follows."""
    name = forms.proper(text)
    known = name.lower() in words_places.NOMINATIVE or name.lower() in words_work.NOMINATIVES
    rest = text[len(name) :].lstrip(" ")
    return (
        name
        if name and not known and (not rest or rest[0] in ",.!" or rest.startswith(("з ", "із ", "і ", "й ")))
        else ""
    )


def place(text: str) -> str:
    """Return the place that a text begins with, in the nominative when it is known."""
    name = forms.proper(text)
    if not name:
        word = text.split(" ", 1)[0].strip(".,!")
        return words_places.NOMINATIVE.get(word, "") if word.islower() else ""
    known = words_places.NOMINATIVE.get(name.lower()) or words_places.NOMINATIVE.get(name.split(" ")[0].lower())
    return known or _regular(name)


def _regular(name: str) -> str:
    """Undo the one ending that decides the nominative of a city: Бердянську, Бердянська, Бердянськ."""
    return name[:-1] if re.search(r"(?:ськ|цьк|град|поль|бург)[уа]$", name) else name


def home(text: str) -> Iterator[Finding]:
    """Yield the city or country that a text begins with."""
    if found := place(text):
        yield Finding("home_country" if found in words_places.COUNTRIES else "home_city", found, 0.9)


def _where(clause: Clause) -> Iterator[Finding]:
    predicate = clause.predicate
    if match := _HOME.match(predicate):
        yield from home(match["place"])
    elif (match := _MOVED.match(predicate)) and clause.speaker:
        yield from home(match["place"])
        if match["origin"] and (left := place(match["origin"])):
            yield Finding("moved_from", left, 0.85)
    elif match := _NO_MORE.match(predicate):
        yield from (Finding(f.key, f.value, 0.9, retract=True) for f in home(match["place"]))
    elif clause.speaker:
        yield from _origin(clause)


def _origin(clause: Clause) -> Iterator[Finding]:
    for pattern, key in ((_BORN, "birthplace"), (_GREW, "grew_up_in")):
        if (match := pattern.match(clause.predicate)) and (found := place(match["place"])):
            yield Finding(key, found, 0.9)
    match = _FROM.match(clause.predicate)
    if match and (clause.explicit or clause.predicate.lower().startswith("родом")) and match["place"][:1].isupper():
        yield Finding("origin", place(match["place"]), 0.9)


def _work(clause: Clause) -> Iterator[Finding]:
    predicate = clause.predicate
    if match := _WORKS_NO_MORE.match(predicate):
        if found := _EMPLOYER.search(" на " + match["place"]):
            yield Finding("employer", found["name"].strip('"'), 0.9, retract=True)
    elif match := _WORKS.match(predicate):
        yield from work(match["rest"])
    elif match := _JOB.match(clause.text):
        yield from _role(match["role"])
    elif clause.explicit:
        yield from _role(predicate.strip(" .!"))


def work(rest: str) -> Iterator[Finding]:
    """Yield role and employer after 'працюю' or 'працює'."""
    for word in rest.split(" "):
        if (role := words_work.INSTRUMENTAL.get(word.lower().strip(".,!"))) is not None:
            yield Finding("work_role", role, 0.9)
            break
    if (match := _EMPLOYER.search(rest)) and (match["name"].startswith('"') or match["name"][0].isupper()):
        yield Finding("employer", match["name"].strip('"'), 0.85)


def _role(word: str) -> Iterator[Finding]:
    role = word.lower()
    role = words_work.INSTRUMENTAL.get(role, role)
    if role in words_work.NOMINATIVES:
        yield Finding("work_role", role, 0.9)


def _person(clause: Clause) -> Iterator[Finding]:
    if (match := _AGE.match(clause.text)) and 0 < int(match["age"]) <= _MAX_AGE:
        yield Finding("age", match["age"], 0.95)
    if (match := _BIRTHDAY.match(clause.text)) and (day := dates.birthday(match["day"])):
        yield Finding("birthday", day, 0.95)
    if match := _SPEAKS.match(clause.predicate):
        yield from (Finding("language", word, 0.9) for word in forms.languages(match["list"]))
    if clause.explicit and (match := _STATUS.match(clause.predicate.strip(" .!"))):
        yield Finding("relationship_status", match["status"].lower(), 0.9)


def _food(clause: Clause) -> Iterator[Finding]:
    if clause.explicit and (match := _DIET.match(clause.predicate.strip(" .!"))):
        yield Finding("diet", match["diet"].lower(), 0.9)
    if match := _ALLERGY.match(clause.predicate):
        yield from (Finding("allergy", value, 0.95) for value in forms.items(match["list"]))
    elif match := _CANNOT_EAT.match(clause.predicate):
        values = forms.items(match["list"] or match["list2"])
        yield from (Finding("allergy", value, 0.85) for value in values if _ALLERGENS.fullmatch(value))
    elif match := _DOES_NOT_EAT.match(clause.predicate):
        yield from (Finding("avoids", value, 0.85) for value in forms.items(match["list"]) if _EDIBLE.fullmatch(value))


def _taste(clause: Clause) -> Iterator[Finding]:
    if match := _FAVOURITE.match(clause.text):
        key = _FAVOURITE_NOUNS.get(match["noun"].lower())
        values = forms.items(match["value"])[:1]
        yield from (Finding(f"favorite_{key}", value, 0.95) for value in values if key)
    elif match := _DISLIKES.match(clause.predicate):
        yield from (Finding("dislikes", value, 0.9) for value in forms.items(match["list"] or match["list2"]))
    elif match := _LIKES.match(clause.predicate) or _PLEASES.match(clause.text):
        yield from (Finding("likes", value, 0.9) for value in forms.items(match["list"]))
    elif match := _HOBBY.match(clause.text) or _HOBBY.match(clause.predicate):
        yield from (Finding("hobby", value, 0.85) for value in forms.items(match["list"] or match["list2"]))


def _plan(clause: Clause, today: date) -> Iterator[Finding]:
    match = _PLAN.search(clause.text)
    day = dates.find(clause.raw, today, ahead=True) if match and clause.speaker else None
    if match and day and day > today:
        target = re.match(r" (?:до|в|у|на) [А-ЯҐЄІЇA-Z][\w'-]+", match["rest"])
        if target:
            yield Finding("plan", f"{match['verb'].lower()}{target[0]}", 0.8, when=day)
