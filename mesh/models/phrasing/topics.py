"""Which facts bear on a question, beyond the words they share: a restaurant brings up allergies.

Each topic is a pattern of question words, in English and Ukrainian, and the keys of facts to look at, most important
first. `*` at the end of a key stands for any ending.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mesh.models.protocols import RecalledItem


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: the words that open it and the keys that it is about."""

    words: re.Pattern[str]
    keys: Sequence[str]


def _topic(words: str, keys: str) -> Topic:
    return Topic(re.compile(rf"\b(?:{words})", re.IGNORECASE), keys.split())


_TOPICS = (
    _topic(r"allerg|intoleran|алергі", "allergy avoids"),
    _topic(
        r"restaurant|eat\b|eating|food|cook|dinner|lunch|breakfast|meal|menu|recipe|dish|snack|dine|dining|cake"
        r"|cafe\b|café\b|pizza|bake|dessert|picnic|barbecue|groceries|book (?:a|the) table|hungry|cuisine|"
        r"ресторан|їсти|їж[ауі]|готува|вечер|обід|обід|снідан|меню|рецепт|страв|кафе|стол",
        "allergy diet avoids health_condition favorite_food favorite_dish favorite_cuisine favorite_dessert "
        "favorite_drink",
    ),
    _topic(r"diet\b|vegetarian|vegan|vegetar|дієт|вегетар|веган", "diet avoids allergy"),
    _topic(
        r"where (?:do|am|did|are) (?:i|we) (?:live|living|based|stay|move)|my (?:home|address|city|town|country)"
        r"|live\b|living in|"
        r"my place|my neighbo|which city|what city|де я (?:живу|мешкаю)|живу|мешкаю|моє місто|де ми живемо",
        "home_city home_region home_country moved_from",
    ),
    _topic(
        r"where (?:am i|are we) (?:\w+ )?from|come from|hometown|home town|born\b|grow up|grew up|origin|звідки я"
        r"|родом|народи|вирос|виріс",
        "origin birthplace grew_up_in home_country nationality birthday birth_year",
    ),
    _topic(r"old am i|my age|how old|birthday|born\b|скільки мені|день народження|мій вік", "age birthday birth_year"),
    _topic(
        r"my job|my work|work\b|working|employer|company|profession|career|occupation|living\?|for a living"
        r"|colleague|office|boss|робот|прац|професі|компані|роботодав",
        "work_role employer work_field work_status boss_name colleague_name",
    ),
    _topic(r"stud(?:y|ies|ying)|university|college|degree|school|навча|вчу|університет|школ|виш", "studies school"),
    _topic(
        r"wife|husband|spouse|married|marriage|partner|girlfriend|boyfriend|fianc|дружин|чоловік|одруж|заміж",
        "spouse_name partner_name relationship_status",
    ),
    _topic(
        r"kids?\b|child|son\b|sons\b|daughter|діт(?:и|ей)|дитин|син|доньк|дочк", "child_name children_count children"
    ),
    _topic(r"brother|sister|sibling|twin|брат|сестр", "sibling_name siblings"),
    _topic(
        r"mother|mom\b|mum\b|father|dad\b|parents|мам|тат(?:о|а|ові)\b|батьк", "mother_name father_name parent_name"
    ),
    _topic(r"friends?\b|друг|друз|подруг", "friend_name"),
    _topic(
        r"family|relatives|родин|сім'ї|сім'я",
        "spouse_name partner_name child_name children_count children sibling_name siblings mother_name father_name "
        "relationship_status",
    ),
    _topic(r"dogs?\b|pupp|собак|пес|пса", "pet_dog pets"),
    _topic(r"cats?\b|kitten|кіт\b|кота|кішк|кот", "pet_cat pets"),
    _topic(r"pets?\b|animals?\b|vet\b|тварин|улюблен(?:ець|ц)", "pet_* pets"),
    _topic(r"speak|languages?\b|мов(?:а|и|ами|ою)\b|розмовля", "language native_language"),
    _topic(
        r"hobb|free time|spare time|weekend|for fun|interests?\b|хобі|дозвілл|вихідн|захоплен", "hobby likes favorite_*"
    ),
    _topic(r"gift|present for|surprise|подарун", "likes hobby favorite_* allergy dislikes"),
    _topic(
        r"(?:do|would|might|will) (?:i|we) (?:\w+ )?(?:like|love|enjoy)|i like\b|i love\b|i enjoy\b|my taste|що я "
        r"люблю|мені подоба|люблю",
        "likes hobby",
    ),
    _topic(r"hate|dislike|can't stand|don't like|не люблю|ненавид|не подоба", "dislikes avoids allergy"),
    _topic(r"favou?rite|улюблен", "favorite_*"),
    _topic(
        r"plans?\b|planning|trip|travel|journey|flight|fly|appointment|meeting|schedule|calendar|upcoming|coming up"
        r"|tomorrow|next (?:week|"
        r"month|year)|this week|dentist|doctor|exam|interview|when (?:is|am|do|are|does)|план|поїзд|подорож|зустріч"
        r"|завтра|^коли",
        "appointment plan birthday",
    ),
    _topic(r"goals?\b|dream|resolution|achieve|мет[аи]\b|ціл[іь]|мрі", "goal"),
    _topic(r"\bown\b|car\b|drive|bike|vehicle|машин|авто", "owns"),
    _topic(r"health|medical|medicine|condition|doctor|ill\b|illness|здоров|лікар|хвор", "health_condition allergy"),
    _topic(r"e-?mail|phone|reach me|contact|пошт|телефон", "email phone"),
    _topic(r"time ?zone|часов\w+ пояс", "timezone"),
    _topic(r"my name|am i called|call me|who am i|мене звати|моє ім'я", "name nickname"),
)

MAX_RANK = 1_000

_RELATIONS = (
    (r"wife|дружин\w*", "wife"),
    (r"husband|чоловік\w*", "husband"),
    (r"partner|партнер\w*", "partner"),
    (r"girlfriend|дівчин\w*", "girlfriend"),
    (r"boyfriend|хлопец\w*|хлопц\w*", "boyfriend"),
    (r"son|син\w{0,2}", "son"),
    (r"daughter|доньк\w|дочк\w", "daughter"),
    (r"brother|брат\w{0,2}", "brother"),
    (r"sister|сестр\w", "sister"),
    (r"mother|mom|mum|mama|мам\w|мат[иі]р?\w?", "mother"),
    (r"father|dad|papa|тат\w{1,3}|батьк\w{1,2}", "father"),
    (r"grandmother|grandma|granny|бабус\w", "grandmother"),
    (r"grandfather|grandpa|дідус\w", "grandfather"),
    (r"friend|друг\w?|друз\w{1,2}|подруг\w", "friend"),
    (r"boss|manager", "boss"),
    (r"colleague|coworker|колег\w", "colleague"),
    (r"roommate|flatmate", "roommate"),
    (r"neighbou?r|сусід\w{0,2}", "neighbour"),
)
_RELATION = "|".join(words for words, _ in _RELATIONS)
_ABOUT_RELATION = re.compile(
    rf"\b(?:does|do|is|are|did|has|have|was|can|will|'s) (?:my|our) (?:[\w-]+ ){{0,2}}(?:{_RELATION})\b|"
    rf"\b(?:my|our) (?:[\w-]+ ){{0,2}}(?:{_RELATION})'s?\b|"
    rf"\b(?:моя|мій|моєї|мого|наша|наш) (?:[\w-]+ )?(?:{_RELATION})\b",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(r"\bfavou?rite (?P<noun>[a-z]+(?: show)?)|\bулюблен\w{1,3} (?P<uk>[\w'-]+)", re.IGNORECASE)
_FAVOURITE_NOUNS = {
    "colour": "color", "film": "movie", "страву": "dish", "страва": "dish", "колір": "color", "книга": "book",
    "книгу": "book", "фільм": "movie", "їжа": "food", "їжу": "food", "музика": "music", "місто": "city", "гурт": "band",
    "пісня": "song", "напій": "drink",
}  # fmt: skip


def relations(question: str) -> set[str]:
    """Return the relatives and friends that a question speaks of, as the subjects of facts name them: `sister`."""
    return {name for words, name in _RELATIONS if re.search(rf"\b(?:{words})(?:'s|s)?\b", question, re.IGNORECASE)}


def asks_about_relation(question: str) -> bool:
    """Tell whether a question is about a relative and not about the user: 'where does my sister live'."""
    return _ABOUT_RELATION.search(question) is not None


def wanted_keys(question: str) -> list[str]:
    """Return the keys of facts that bear on a question, most important first, each once."""
    if favourite := _FAVOURITE.search(question):
        noun = (favourite["noun"] or favourite["uk"]).lower()
        return [f"favorite_{_FAVOURITE_NOUNS.get(noun, noun).replace(' ', '_')}"]
    opened = [topic for topic in _TOPICS if topic.words.search(question)]
    keys: list[str] = []
    for topic in opened:
        keys += [key for key in topic.keys if key not in keys]
    return keys


def key_rank(item: RecalledItem, wanted: Sequence[str]) -> int:
    """Return the place of a fact's key among the wanted ones; `MAX_RANK` when it is none of them."""
    for rank, key in enumerate(wanted):
        if item.key == key or (key.endswith("*") and item.key.startswith(key[:-1])):
            return rank
    return MAX_RANK
