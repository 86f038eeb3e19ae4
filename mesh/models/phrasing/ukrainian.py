"""Ukrainian answers, in the shape of the English ones. Words are quoted, not inflected: endings need a grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mesh.models.phrasing.days import Calendar
from mesh.models.phrasing.selection import Selection
from mesh.models.phrasing.wording import quoted, shortened, upper_first
from mesh.models.protocols import RecalledItem

_MONTHS = (
    "січня", "лютого", "березня", "квітня", "травня", "червня", "липня", "серпня", "вересня", "жовтня", "листопада",
    "грудня",
)  # fmt: skip
_NOUNS = {
    "name": "ваше ім'я", "nickname": "як вас називати", "age": "ваш вік", "birthday": "ваш день народження",
    "birth_year": "рік народження", "nationality": "національність", "home_city": "ваше місто",
    "home_region": "ваш регіон",
    "home_country": "ваша країна", "moved_from": "звідки ви переїхали", "origin": "звідки ви родом",
    "birthplace": "місце народження", "grew_up_in": "де ви виросли", "work_role": "ваша робота",
    "employer": "де ви працюєте",
    "work_field": "галузь роботи", "work_status": "робота", "studies": "що ви вивчаєте", "school": "де ви навчаєтеся",
    "relationship_status": "сімейний стан", "spouse_name": "дружина або чоловік",
    "partner_name": "партнер або партнерка",
    "child_name": "дитина", "children_count": "кількість дітей", "children": "діти", "siblings": "брати й сестри",
    "sibling_name": "брат або сестра", "mother_name": "мама", "father_name": "тато", "friend_name": "друг або подруга",
    "pets": "домашні тварини", "pet_dog": "ваш собака", "pet_cat": "ваш кіт", "pet_parrot": "ваш папуга",
    "allergy": "алергія",
    "health_condition": "здоров'я", "diet": "харчування", "avoids": "не вживаєте", "likes": "вам подобається",
    "dislikes": "вам не подобається", "hobby": "хобі", "language": "мова", "native_language": "рідна мова",
    "owns": "у вас є",
    "goal": "ваша мета", "plan": "ваш план", "appointment": "зустріч", "email": "пошта", "phone": "телефон",
    "timezone": "часовий пояс", "favorite_dish": "улюблена страва", "favorite_food": "улюблена їжа",
    "favorite_color": "улюблений колір", "favorite_book": "улюблена книга", "favorite_movie": "улюблений фільм",
    "favorite_band": "улюблений гурт", "favorite_city": "улюблене місто", "favorite_music": "улюблена музика",
}  # fmt: skip
_RELATIONS = {
    "sister": "сестра", "brother": "брат", "mother": "мама", "father": "тато", "wife": "дружина", "husband": "чоловік",
    "son": "син", "daughter": "донька", "friend": "друг", "grandmother": "бабуся", "grandfather": "дідусь",
}  # fmt: skip
EARLIER = "раніше "
_MAX_NOTED_CHARS = 200
_MAX_VALUE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Ukrainian:
    """The phrases of Ukrainian.

    Args:
        calendar: the user's zone and the day of the turn.
    """

    calendar: Calendar

    def greeting(self, name: str) -> str:
        """Greet back, by name when it is known."""
        hello = f"Вітаю, {name}." if name else "Вітаю."
        return f"{hello} Розкажіть щось про себе або запитайте, що я пам'ятаю."

    def assistant(self, own_name: str) -> str:
        """Say who answers, and that no model does."""
        who = f"Я {own_name}. " if own_name else ""
        return f"{who}Мовну модель не під'єднано: це вбудований відповідач, який спирається на те, що ви розповіли."

    def thanks(self) -> str:
        """Answer thanks."""
        return "Прошу."

    def farewell(self) -> str:
        """Answer a farewell."""
        return "До побачення. Усе, що ви розповіли, збережено."

    def nothing(self) -> str:
        """Say that nothing is known about what was asked."""
        return "Поки що я нічого про це не знаю. Розкажіть, і я запам'ятаю."

    def nothing_about_user(self) -> str:
        """Say that nothing is known about the user."""
        return "Поки що я нічого про вас не знаю. Розкажіть щось, і я запам'ятаю."

    def memory_away(self) -> str:
        """Say that memory could not be asked."""
        return "Зараз я не можу звернутися до пам'яті, тому не скажу. Запитайте, будь ласка, ще раз за мить."

    def cannot(self) -> str:
        """Say that a task needs a model."""
        return "Цього я не можу: мовну модель не під'єднано, тому відповідаю лише з того, що ви розповіли."

    def kept(self) -> str:
        """Say that words were kept which neither tell nor ask."""
        return "Занотовано. Мовну модель не під'єднано, тому я лише зберігаю сказане й відповідаю з нього."

    def noted(self, statements: Sequence[str]) -> str:
        """Repeat what was told."""
        return (
            f"Занотовано: {_quoted(shortened(' '.join(statements), _MAX_NOTED_CHARS))}" if statements else "Занотовано."
        )

    def summary(self, facts: Sequence[RecalledItem]) -> str:
        """List facts, each once."""
        return f"Ось що я знаю: {'; '.join(dict.fromkeys(_stated(fact) for fact in facts))}."

    def answer(self, selection: Selection) -> str:
        """State facts with the day they were told, then quote evidence."""
        by_day: dict[str, list[str]] = {}
        for fact in selection.facts:
            by_day.setdefault(self._on(fact.at), []).append(_stated(fact))
        sentences = [f"{upper_first(f'{day}ви розповіли')}: {'; '.join(stated)}." for day, stated in by_day.items()]
        return " ".join([*sentences, *(self._said(item) for item in selection.evidence)])

    def _said(self, item: RecalledItem) -> str:
        day = self._on(item.at)
        if item.kind == "document":
            return f"{upper_first(item.source or 'документ')}: {_quoted(item.text)}"
        if item.speaker.casefold() in ("", "user"):
            return f"{upper_first(f'{day or EARLIER}ви сказали')}: {_quoted(item.text)}"
        return f"{upper_first(f'{day}{item.speaker}')}: {_quoted(item.text)}"

    def _on(self, at: datetime | None) -> str:
        day = self.calendar.day(at)
        if day is None:
            return ""
        year = "" if self.calendar.is_this_year(day) else f" {day.year} року"
        return f"{day.day} {_MONTHS[day.month - 1]}{year} "


def _quoted(text: str) -> str:
    return quoted(text, "«", "»")


def _stated(fact: RecalledItem) -> str:
    value = shortened(fact.value, _MAX_VALUE_CHARS)
    if fact.key in ("plan", "appointment") and fact.text.strip():
        value = _quoted(fact.text)
    noun = _NOUNS.get(fact.key, fact.key.replace("_", " "))
    if fact.subject in ("", "user"):
        return f"{noun} – {value}"
    relation, _, name = fact.subject.removeprefix("user").strip(".").partition(".")
    person = f"{_RELATIONS.get(relation, relation)} {name.title()}".strip()
    return f"{person}: {noun.removeprefix('ваше ').removeprefix('ваш ').removeprefix('ваша ')} – {value}"
