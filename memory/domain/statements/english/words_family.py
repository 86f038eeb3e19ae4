"""Relatives and friends in English: which word names whom, and under which key their name is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
    """One word for a person of the speaker's.

    Args:
        subject: the last part of the subject of facts about that person, such as `sister`.
        name_key: the key of that person's name among the speaker's facts.
        unique: False when a speaker usually has several, so that facts about one need a name to be kept apart.
    """

    subject: str
    name_key: str
    unique: bool = True


def _relations() -> dict[str, Relation]:
    table: dict[str, Relation] = {}
    for words, subject, key, unique in _TABLE:
        table |= {word: Relation(subject, key, unique) for word in words.split("|")}
    return table


_TABLE = (
    ("wife", "wife", "spouse_name", True),
    ("husband|hubby", "husband", "spouse_name", True),
    ("spouse", "spouse", "spouse_name", True),
    ("girlfriend", "girlfriend", "partner_name", True),
    ("boyfriend", "boyfriend", "partner_name", True),
    ("partner|significant other", "partner", "partner_name", True),
    ("fiancé|fiancée|fiance|fiancee", "fiance", "partner_name", True),
    ("son|stepson", "son", "child_name", True),
    ("daughter|stepdaughter", "daughter", "child_name", True),
    ("child|kid|baby|toddler|firstborn", "child", "child_name", True),
    ("brother|stepbrother|half-brother|bro", "brother", "sibling_name", True),
    ("sister|stepsister|half-sister|sis", "sister", "sibling_name", True),
    ("twin", "twin", "sibling_name", True),
    ("mother|mom|mum|mama|mommy|mummy", "mother", "mother_name", True),
    ("father|dad|daddy|papa", "father", "father_name", True),
    ("grandmother|grandma|granny|nana", "grandmother", "grandmother_name", True),
    ("grandfather|grandpa|grandad|granddad", "grandfather", "grandfather_name", True),
    ("mother-in-law", "mother_in_law", "mother_in_law_name", True),
    ("father-in-law", "father_in_law", "father_in_law_name", True),
    ("sister-in-law", "sister_in_law", "sister_in_law_name", False),
    ("brother-in-law", "brother_in_law", "brother_in_law_name", False),
    ("grandson", "grandson", "grandchild_name", False),
    ("granddaughter", "granddaughter", "grandchild_name", False),
    ("aunt|auntie", "aunt", "aunt_name", False),
    ("uncle", "uncle", "uncle_name", False),
    ("cousin", "cousin", "cousin_name", False),
    ("nephew", "nephew", "nephew_name", False),
    ("niece", "niece", "niece_name", False),
    ("friend|buddy|mate|bestie|pal", "friend", "friend_name", False),
    ("boss|manager|supervisor", "boss", "boss_name", True),
    ("colleague|coworker|co-worker|teammate", "colleague", "colleague_name", False),
    ("roommate|flatmate|housemate", "roommate", "roommate_name", False),
    ("neighbour|neighbor", "neighbour", "neighbour_name", False),
    ("teacher", "teacher", "teacher_name", False),
    ("doctor|gp", "doctor", "doctor_name", False),
    ("dentist", "dentist", "dentist_name", False),
    ("therapist", "therapist", "therapist_name", False),
)

RELATIONS = _relations()

PLURALS = {
    "kids": "child_name", "children": "child_name", "sons": "child_name", "daughters": "child_name",
    "brothers": "sibling_name", "sisters": "sibling_name", "siblings": "sibling_name", "friends": "friend_name",
    "best friends": "friend_name", "twins": "child_name", "parents": "parent_name",
}  # fmt: skip
"""Several people at once: 'my kids are called Ben and Ada'."""

PEOPLE_ADJECTIVES = (
    r"(?:older|elder|eldest|oldest|younger|youngest|little|big|twin|dear|lovely|beloved|only|best|close|good|old|new"
    r"|late|first|second|third|middle|baby|teenage|adopted|amazing|wonderful|beautiful|childhood|oldest and dearest)"
)
