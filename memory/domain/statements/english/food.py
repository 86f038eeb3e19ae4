"""What people cannot or do not eat: allergies, intolerances, diets, things avoided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import phrases
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding

_ALLERGIC = re.compile(r"(?:am|have been) (?:\w+ly )?allergic to (?P<list>.+)", re.IGNORECASE)
_ALLERGY = re.compile(
    r"(?:have|suffer from|got) (?:an?|some) (?:severe |mild |bad |serious |strong |slight )?(?:"
    r"(?P<thing>[\w-]+(?: [\w-]+)?) (?:allergy|intolerance)|(?:allergy|allergic reaction|intolerance) to (?P<list>.+))",
    re.IGNORECASE,
)
_ALLERGIC_NO_MORE = re.compile(
    r"(?:no longer am|am no longer|am not) allergic to (?P<list>.+)|(?:have )?(?:outgrew|outgrown) my "
    r"(?P<thing>[\w-]+) allergy",
    re.IGNORECASE,
)
_IN_PASSING = re.compile(r"\b(?<!outgrown )(?<!outgrew )my (?P<thing>[\w-]+(?: nut)?) allergy\b", re.IGNORECASE)
_ANY_MORE = re.compile(r"\b(?:any ?more|any longer|no longer)\b|outg", re.IGNORECASE)
_INTOLERANT = re.compile(r"am (?P<thing>lactose|gluten|fructose|histamine)[- ]intolerant\b", re.IGNORECASE)
_CANNOT = re.compile(
    r"(?:can't|am unable to|am not allowed to|must not|am not able to) (?:eat|drink|have|tolerate|digest) (?P<list>.+)",
    re.IGNORECASE,
)
_UNABLE = ("can't", "am unable", "am not", "must not")
_ALLERGY_NOUNS = frozenset({"allergies", "food allergies", "only allergy", "allergy", "food allergy", "worst allergy"})
_ALLERGENS = re.compile(
    r"(?:(?:tree |pea|wal|hazel|cashew |brazil |pine |pecan )?nuts?|peanuts?|walnuts?|hazelnuts?|almonds?|cashews?"
    r"|pistachios?|gluten|"
    r"wheat|dairy|milk|lactose|cow'?s milk|eggs?|soya?|shellfish|shrimps?|prawns?|crabs?|lobsters?|crustaceans"
    r"|seafood|fish|"
    r"strawberr(?:y|ies)|kiwis?|celery|mustard|sesame|lupin|sulphites?|sulfites?|molluscs|mussels|oysters|citrus"
    r"|honey|chocolate|peaches|apples|tomatoes|corn|peanut butter|rye|barley|latex)",
    re.IGNORECASE,
)
_OTHER_ALLERGENS = re.compile(
    r"(?:(?:house )?dust(?: mites)?|(?:birch |grass |tree )?pollen|cats?|dogs?|horses?|bees?|wasps?|"
    r"(?:bee|wasp|insect) (?:st\w{2,6}|bites?|venom)|mould|mold|"
    r"penicillin|aspirin|ibuprofen|antibiotics|amoxicillin|nickel|grass|ragweed|feathers|cat hair|dog hair|animal "
    r"fur|perfume)",
    re.IGNORECASE,
)
_NOT_ALLERGENS = re.compile(
    r"(?:mondays?|mornings?|work(?:ing)?|stupidity|people|bullshit|drama|nonsense|commitment|responsibilit|fun"
    r"|effort|exercise|"
    r"my |your |him|her|them|it\b|that\b|idiots?|losing|boredom|bad |small talk|meetings?|taxes|politics|early|love)",
    re.IGNORECASE,
)

_DIET_WORDS = (
    r"vegetarian|vegan|pescatarian|flexitarian|pescetarian|lacto-vegetarian|fruitarian|carnivore|coeliac|celiac|keto"
    r"|paleo|gluten-free|dairy-free|kosher|halal|plant-based|raw vegan"
)
_DIET = re.compile(
    rf"(?:am|became|have become|have been|went|have gone|turned|have turned|follow|keep|am on|eat|am eating|stick to)"
    rf"(?: (?:an?|the|only|now|on|strictly|a strict|just))*"
    rf" (?P<diet>{_DIET_WORDS})(?: (?:diet|food|person|meals|again|for|since|now|a|one|two|three|four|five|six|ten"
    rf"|many|only|lifestyle|and|in|last|this|at|\d|all|these|too|because|so|by)\b.*)?$",
    re.IGNORECASE,
)
_DIET_NO_MORE = re.compile(
    rf"(?:am no longer|no longer am|am not|stopped being) (?:an? )?(?P<diet>{_DIET_WORDS})\b(?P<rest>.*)", re.IGNORECASE
)
_DOES_NOT_EAT = re.compile(
    r"(?:don't|never|no longer|(?:have )?stopped|(?:have )?quit|(?:have )?gave up|(?:have )?given up|can't) "
    r"(?:eat|eating|drink|drinking|consume|touch|do) (?P<list>.+)",
    re.IGNORECASE,
)
_AVOIDS = re.compile(
    r"(?:avoid|stay away from|steer clear of|keep off|am avoiding|have to avoid) (?P<list>.+)", re.IGNORECASE
)
_EDIBLE = re.compile(
    r".*\b(?:meat|pork|beef|lamb|chicken|poultry|fish|seafood|shellfish|dairy|milk|cheese|butter|cream|eggs?|gluten"
    r"|wheat|bread|pasta|"
    r"sugar|sweets|chocolate|alcohol|beer|wine|coffee|caffeine|tea|soda|cola|spicy food|fried food|fast food|junk "
    r"food|salt|"
    r"carbs|mushrooms|onions?|garlic|nuts|peanuts|soy|olives|tomatoes|red meat|processed food|honey|spirits|animal "
    r"products|liver|"
    r"raw fish|sushi|fruit|vegetables|coriander|cilantro|peppers|aubergine|rice|potatoes|bananas|strawberries)$",
    re.IGNORECASE,
)
_AT_A_TIME = re.compile(
    r"\b(?:before|after|at night|in the (?:morning|evening)|on (?:weekdays|\w+days?)|late|today|tonight|right now"
    r"|too much|enough|much|often|when|while|for breakfast|yet|during)\b",
    re.IGNORECASE,
)


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield what the clause's subject must or will not eat."""
    if clause.who == "it":
        if clause.noun in _ALLERGY_NOUNS:
            yield from listed_allergens(clause.predicate)
        return
    yield from _allergy(clause.predicate)
    if (
        clause.who in ("", "user")
        and (match := _IN_PASSING.search(clause.text))
        and _ALLERGENS.fullmatch(match["thing"])
    ):
        yield Finding("allergy", match["thing"], 0.85)
    yield from _diet(clause.predicate)
    yield from _avoided(clause.predicate)


def _allergies(text: str, confidence: float, *, retract: bool = False) -> Iterator[Finding]:
    for value in phrases.items(text):
        if _NOT_ALLERGENS.match(value) is None:
            yield Finding("allergy", value, confidence, retract=retract)


def _allergy(predicate: str) -> Iterator[Finding]:
    if match := _ALLERGIC.match(predicate):
        yield from _allergies(match["list"], 0.95)
    elif match := _ALLERGY.match(predicate):
        yield from _allergies(match["thing"] or match["list"], 0.95)
    elif match := _INTOLERANT.match(predicate):
        yield Finding("allergy", match["thing"].lower(), 0.9)
    elif match := _ALLERGIC_NO_MORE.match(predicate):
        if _ANY_MORE.search(predicate):
            yield from _allergies(match["list"] or match["thing"], 0.9, retract=True)
    elif match := _CANNOT.match(predicate):
        yield from (
            Finding("allergy", value, 0.85) for value in phrases.items(match["list"]) if _ALLERGENS.fullmatch(value)
        )


def _diet(predicate: str) -> Iterator[Finding]:
    words = predicate.rstrip(" .!,")
    if match := _DIET.match(words):
        yield Finding("diet", match["diet"].lower(), 0.9)
    elif (match := _DIET_NO_MORE.match(words)) and re.search(
        r"no longer|stopped|any ?more|any longer", words, re.IGNORECASE
    ):
        yield Finding("diet", match["diet"].lower(), 0.9, retract=True)


def _avoided(predicate: str) -> Iterator[Finding]:
    match = _DOES_NOT_EAT.match(predicate) or _AVOIDS.match(predicate) or _CANNOT.match(predicate)
    if match is None or _AT_A_TIME.search(match["list"]):
        return
    for value in phrases.items(match["list"]):
        allergen = predicate.lower().startswith(_UNABLE) and _ALLERGENS.fullmatch(value)
        if not allergen and _EDIBLE.match(value):
            yield Finding("avoids", value, 0.85)


def listed_allergens(text: str) -> Iterator[Finding]:
    """Yield the known allergens of a bare list, an answer to 'any allergies?'."""
    for value in phrases.items(text):
        if _ALLERGENS.fullmatch(value) or _OTHER_ALLERGENS.fullmatch(value):
            yield Finding("allergy", value, 0.85)
