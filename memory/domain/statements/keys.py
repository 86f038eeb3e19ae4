"""The catalogue of keys: for each its category, whether several values coexist, and whether a date belongs to it.

One table for all languages, so that 'I moved to Odesa' and its Ukrainian twin replace the same fact.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory.domain.statements.statement import Kind


@dataclass(frozen=True, slots=True)
class KeyRule:
    """What holds for every statement of a key.

    Args:
        category: the group that it is listed under.
        multi: several values coexist.
        dated: a date in the sentence is the date since when it holds.
        kind: `event` for what happens once.
    """

    category: str
    multi: bool = False
    dated: bool = False
    kind: Kind = "fact"


_IDENTITY = KeyRule("identity")
_HOME = KeyRule("home", dated=True)
_ORIGIN = KeyRule("origin")
_WORK = KeyRule("work", dated=True)
_STUDY = KeyRule("education", dated=True)
_FAMILY = KeyRule("family")
_FAMILY_MANY = KeyRule("family", multi=True)
_FOOD_MANY = KeyRule("food", multi=True, dated=True)
_EVENT = KeyRule("plan", multi=True, dated=True, kind="event")

KEYS: dict[str, KeyRule] = {
    "name": _IDENTITY,
    "nickname": _IDENTITY,
    "age": _IDENTITY,
    "birthday": _IDENTITY,
    "birth_year": _IDENTITY,
    "nationality": KeyRule("identity", multi=True),
    "timezone": KeyRule("identity", dated=True),
    "email": KeyRule("contact"),
    "phone": KeyRule("contact"),
    "height": _IDENTITY,
    "shoe_size": _IDENTITY,
    "blood_type": KeyRule("health"),
    "star_sign": _IDENTITY,
    "home_city": _HOME,
    "home_region": _HOME,
    "home_country": _HOME,
    "moved_from": KeyRule("origin", multi=True),
    "origin": _ORIGIN,
    "birthplace": _ORIGIN,
    "grew_up_in": _ORIGIN,
    "work_role": _WORK,
    "employer": _WORK,
    "work_field": _WORK,
    "work_status": _WORK,
    "studies": _STUDY,
    "school": _STUDY,
    "relationship_status": KeyRule("family", dated=True),
    "spouse_name": _FAMILY,
    "partner_name": _FAMILY,
    "mother_name": _FAMILY,
    "father_name": _FAMILY,
    "children_count": _FAMILY,
    "children": _FAMILY_MANY,
    "siblings": _FAMILY_MANY,
    "pets": KeyRule("pet", multi=True, dated=True),
    "allergy": KeyRule("health", multi=True, dated=True),
    "health_condition": KeyRule("health", multi=True, dated=True),
    "diet": KeyRule("food", dated=True),
    "avoids": _FOOD_MANY,
    "likes": KeyRule("preference", multi=True),
    "dislikes": KeyRule("preference", multi=True),
    "hobby": KeyRule("hobby", multi=True),
    "language": KeyRule("language", multi=True),
    "native_language": KeyRule("language"),
    "owns": KeyRule("possession", multi=True, dated=True),
    "goal": KeyRule("goal", multi=True),
    "plan": _EVENT,
    "appointment": _EVENT,
}

_BY_PREFIX = (("favorite_", KeyRule("preference")), ("pet_", KeyRule("pet", multi=True, dated=True)))

RELATED_KEYS = frozenset(
    {
        "age", "allergy", "avoids", "birthday", "birthplace", "diet", "dislikes", "employer", "grew_up_in",
        "health_condition", "hobby", "home_city", "home_country", "home_region", "language", "likes", "nationality",
        "origin", "relationship_status", "school", "studies", "work_field", "work_role", "work_status",
    }
)  # fmt: skip
"""What may be learned about somebody else: plain and lasting things, not their plans or possessions."""


def rule_of(key: str) -> KeyRule:
    """Return the rule of a key; names of relatives and friends are family and coexist."""
    if (rule := KEYS.get(key)) is not None:
        return rule
    for prefix, prefixed in _BY_PREFIX:
        if key.startswith(prefix):
            return prefixed
    return _FAMILY_MANY
