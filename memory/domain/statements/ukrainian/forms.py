"""Case endings: from the form in which a word was said to the form in which it is kept.

Only endings that decide the nominative are undone: a feminine accusative (каву, кава), an animate masculine accusative
of a name (Рекса, Рекс), an instrumental of languages (українською, українська). Everything else stays as said.
"""

from __future__ import annotations

import re

_PROPER = re.compile(
    r"[А-ЯҐЄІЇ][а-яґєії']+(?:-[А-ЯҐЄІЇ][а-яґєії']+)?(?: [А-ЯҐЄІЇ][а-яґєії']+){0,2}|[A-Z][\w.&-]{1,30}(?: "
    r"[A-Z][\w.&-]{1,30}){0,2}"
)
_SEPARATOR = re.compile(r"\s*,\s*(?:і|й|та|або)?\s*|\s+(?:і|й|та|або|чи|а також)\s+", re.IGNORECASE)
_STOP = re.compile(
    r"[;:(!.]|,?\s(?:бо|але|тому|коли|якщо|що|щоб|який|яка|які|яке|де|хоча|поки|ніж|із|зі|аніж|особливо|більше за"
    r"|від|я|ми|вона|він|у мене|в мене|мій|моя)(?=\s|$)",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"\s+(?:теж|також|дуже|понад усе|найбільше|взагалі|зараз|тепер|будь ласка|до речі|вже|завжди|мабуть|разом|вранці"
    r"|ввечері|з дитинства)$",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^(?:дуже|просто|всі|усі|всякі|будь-які|трохи|ще|також|теж|різні)\s+", re.IGNORECASE)
_SAYS_NOTHING = re.compile(
    r"(?:тебе|вас|його|її|їх|це|те|ту|той|цей|ця|цю|ці|все|усе|всіх|нічого|ніщо|себе|мене|твою|свою|свій|своє|свої"
    r"|свого|твій|твої|твоє|ваш"
    r"|ваші|мою|мій|моє|мої|коли|як|що|жити|бути|мати|там|тут|так|один|одне|щось|когось|людей)\b.*",
    re.IGNORECASE,
)
_GENITIVE = {
    "м'яса": "м'ясо", "риби": "риба", "молока": "молоко", "свинини": "свинина", "яловичини": "яловичина",
    "цукру": "цукор",
    "глютену": "глютен", "хліба": "хліб", "сиру": "сир", "яєць": "яйця", "горіхів": "горіхи", "солодкого": "солодке",
    "алкоголю": "алкоголь", "кави": "кава", "курки": "курка", "арахісу": "арахіс", "цибулі": "цибуля",
    "грибів": "гриби",
    "гострого": "гостре", "меду": "мед", "лактози": "лактоза", "морепродуктів": "морепродукти",
}  # fmt: skip
_ATTRIBUTE = re.compile(r" (?:з|із|зі|на|у|в|для|до|без|про|під)(?= )")
_KEEPS_ENDING = frozenset({"рагу", "какаду", "кенгуру", "меню", "парвеню", "фондю", "порту"})
_MAX_WORDS = 5
_MAX_CHARS = 60
_MAX_ITEMS = 8
_EDGES = " \t.,;:!?-–*\"'()[]…\ufffc"


def proper(text: str) -> str:
    """Return the capitalised name that a text begins with, or an empty text."""
    match = _PROPER.match(text.lstrip('"'))
    return match[0].rstrip("'.-") if match else ""


def items(text: str) -> list[str]:
    """Return the phrases of a list in the nominative; what says nothing is left out."""
    stop = _STOP.search(text)
    found: list[str] = []
    for part in _SEPARATOR.split(text[: stop.start()] if stop else text)[:_MAX_ITEMS]:
        value = nominative(_trimmed(part))
        if value and value not in found:
            found.append(value)
    return found


def _trimmed(phrase: str) -> str:
    value = _LEADING.sub("", _TRAILING.sub("", phrase.strip(_EDGES))).strip(_EDGES)
    says = 1 < len(value) <= _MAX_CHARS and value.count(" ") < _MAX_WORDS and any(char.isalpha() for char in value)
    return "" if not says or "\ufffc" in value or _SAYS_NOTHING.fullmatch(value) else value


def nominative(phrase: str) -> str:
    """Return a phrase in the nominative where its endings decide it; otherwise as it is."""
    if phrase.lower() in _GENITIVE:
        return _GENITIVE[phrase.lower()]
    match = _ATTRIBUTE.search(phrase)
    core, rest = (phrase[: match.start()], phrase[match.start() :]) if match else (phrase, "")
    words = core.split(" ")
    if core and all(word[-1:] in ("у", "ю") and word.lower() not in _KEEPS_ENDING for word in words):
        return " ".join(_feminine(word) for word in words) + rest
    return phrase


def _feminine(word: str) -> str:
    return word[:-1] + ("а" if word[-1] == "у" else "я")


def called(name: str) -> str:
    """Return a name that stood in the accusative ('маю кота Мурчика') in the nominative."""
    if name[-1:] in ("у", "ю"):
        return _feminine(name)
    return name[:-1] if name[-1:] == "а" and len(name) > _SHORT_NAME else name


_SHORT_NAME = 3


def languages(text: str) -> list[str]:
    """Return the languages of a list in the instrumental ('українською та англійською') in the nominative."""
    words = (_trimmed(part).lower() for part in _SEPARATOR.split(text)[:_MAX_ITEMS])
    return [f"{word[:-2]}а" for word in words if word.endswith(("ською", "цькою", "зькою"))]
