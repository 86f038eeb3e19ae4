"""Topics: words of questions, and the keys of facts that bear on them though they share no word.

'What should I keep in mind when we book a restaurant?' does not say *allergy*, and a vector of the sentence is far from
*peanuts*. The table says that talk of eating makes allergies and diets relevant. It holds everyday topics only; keys
that it does not know are found by their own words and by their vectors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.domain.lexical import query_terms


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic.

    Args:
        words: words of questions, in any language; compared as lexemes.
        keys: keys of facts; `*` stands for any ending.
    """

    words: str
    keys: str


TOPICS = (
    Topic(
        "restaurant eat eating dinner lunch breakfast cook cooking meal food recipe menu snack drink cafe dine "
        "dining bake baking cuisine dish hungry groceries pizza dessert picnic barbecue table takeaway kitchen "
        "ресторан кафе їсти їжа вечеря обід сніданок готувати рецепт страва меню вечеряти снідати стіл essen "
        "restaurant abendessen mittagessen frühstück kochen rezept",
        "allergy allergies diet avoids food_* favorite_food favorite_dish favorite_cuisine favorite_restaurant "
        "favorite_drink favorite_dessert",
    ),
    Topic(
        "live living home house city town address move moved neighbourhood neighborhood apartment flat "
        "жити живу живеш живе мешкаю мешкати місто дім адреса переїхати квартира wohnen wohne stadt adresse",
        "home_* address moved_from",
    ),
    Topic("name called call ім'я звати прізвище heißen heiße nennen name", "name nickname"),
    Topic(
        "job work working employer company profession career office occupation boss colleague salary living "
        "робота працювати працюю професія компанія посада arbeit arbeiten beruf firma",
        "work_* employer job* profession occupation",
    ),
    Topic(
        "study studies studying school university college degree course exam student навчання вчитися навчатися "
        "університет школа studieren studium universität schule",
        "studies school education* degree",
    ),
    Topic(
        "family wife husband partner spouse married kid kids child children son daughter sister brother mother "
        "father mum mom dad parent parents sibling siblings relative girlfriend boyfriend сім'я родина дружина "
        "чоловік діти дитина син дочка сестра брат мама тато батьки familie frau mann kinder schwester bruder eltern",
        "spouse_name partner_name mother_name father_name children* siblings relationship_status",
    ),
    Topic("pet pets dog cat animal puppy kitten vet тварина собака пес кіт кішка haustier hund katze", "pets pet_*"),
    Topic(
        "health healthy allergy allergic allergies doctor medicine medication sick ill illness hospital pharmacy "
        "pill treatment safe здоров'я лікар ліки алергія хвороба аптека gesundheit arzt medizin allergie allergisch "
        "krank",
        "allergy allergies health_* blood_type medication*",
    ),
    Topic(
        "birthday born old age день народження років вік geburtstag alt alter",
        "birthday age birth_year",
    ),
    Topic(
        "gift present surprise подарунок geschenk",
        "likes dislikes hobby favorite_* birthday",
    ),
    Topic(
        "hobby hobbies fun weekend interests interested enjoy relax sport sports leisure хобі відпочинок дозвілля "
        "подобається hobby freizeit wochenende",
        "hobby likes favorite_*",
    ),
    Topic("favourite favorite prefer preference preferences улюблений улюблена lieblings", "favorite_* likes"),
    Topic(
        "plan plans planned trip travel vacation holiday schedule scheduled appointment tomorrow calendar upcoming "
        "event meeting flight план плани подорож поїздка відпустка зустріч завтра розклад plan reise urlaub termin "
        "morgen",
        "plan plans appointment",
    ),
    Topic("language languages speak translate мова розмовляти sprache sprechen", "language native_language"),
    Topic(
        "hometown origin nationality country grew roots родом країна походження herkunft heimat",
        "origin birthplace grew_up_in nationality moved_from home_country",
    ),
    Topic("email e-mail phone telephone number contact reach телефон пошта номер telefon nummer", "email phone"),
    Topic("goal goals aim resolution achieve ціль мета ziel", "goal"),
)

NO_KEY = "^$"
"""Matches no key, since none is empty."""


def _pattern(keys: str) -> str:
    return "|".join(re.escape(key).replace(r"\*", ".*") for key in keys.split())


_KEYS_BY_TERM: dict[str, frozenset[str]] = {}
for _topic in TOPICS:
    for _term in query_terms(_topic.words, limit=1_000):
        _KEYS_BY_TERM[_term] = _KEYS_BY_TERM.get(_term, frozenset()) | {_pattern(_topic.keys)}


def topic_keys(terms: list[str]) -> str:
    """Return a regular expression for the keys of facts that bear on a question.

    Args:
        terms: the question's lexemes.
    """
    patterns = sorted(frozenset().union(*(_KEYS_BY_TERM.get(term, frozenset()) for term in terms)))
    return f"^({'|'.join(patterns)})$" if patterns else NO_KEY
