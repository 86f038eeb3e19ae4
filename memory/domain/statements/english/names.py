"""Proper names by their shape: capitalised words, minus those that are capitalised for other reasons.

No list of given names is kept: names come from everywhere. The lists here hold what is *not* a name.
"""

from __future__ import annotations

import re

from memory.domain.statements.word_list import words

_MAX_NAME_WORDS = 4

_PARTICLES = words("the de del della di da do dos das du des le la las los van der den von bin ibn al el of upon am zu")
_PARTICLE = rf"(?:(?:{'|'.join(sorted(_PARTICLES))})(?: (?:la|le|der|den|the|los|las))?)"
_WORD = r"(?:(?:St|Dr|Mt|Ft|[A-Z]\.[A-Z]|[A-Z])\. )?[^\W\d_a-z][\w'’.&+-]{0,40}(?<![.,'’-])"
_PROPER = re.compile(rf"{_WORD}(?:(?: {_PARTICLE})? {_WORD}){{0,{_MAX_NAME_WORDS - 1}}}")

NOT_NAMES = words(
    """
    i a an the my our your his her their its this that these those and or but so if then when where what who why how
    which monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december today tomorrow yesterday yes no ok okay sure maybe please thanks hello hi hey
    sorry back here there away off on in out at from to not never always just still also only really very too
    unemployed self-employed freelance god batman superman spiderman dracula sherlock napoleon english mr mrs ms
    dr covid wifi internet ai human robot bot adhd autistic diabetic
    """
)
"""Words with a capital that end a name wherever they stand."""

STATES = words(
    """
    fine good great well bad happy sad tired hungry thirsty sick ill busy late early ready done finished home sure
    afraid alone married single engaged divorced pregnant bored excited glad angry mad confused lost free available
    interested worried nervous allergic vegan vegetarian pescatarian kosher halal drunk sober awake asleep new old young
    left right up down retired santa
    """
)
"""Words that are no name alone and no person's first name, though places have them: 'New York'."""

_LOWER_OR_UPPER_ONE = 1


def proper(text: str) -> str:
    """Return the proper name that a text begins with, or an empty text.

    'Lviv with my dog' gives 'Lviv', 'New York City' itself, 'a town' nothing. Words of `NOT_NAMES` end the name.
    """
    match = _PROPER.match(text)
    if match is None:
        return ""
    kept: list[str] = []
    for word in match[0].split(" "):
        capital = word[0].isupper()
        if (not capital and word not in _PARTICLES) or (capital and _bare(word) in NOT_NAMES):
            break
        kept.append(word)
    while kept and not kept[-1][:1].isupper():
        kept.pop()
    return "" if len(kept) == 1 and _bare(kept[0]) in STATES else " ".join(kept)


def _bare(word: str) -> str:
    return word.lower().strip(".,'")


def person(text: str) -> str:
    """Return the personal name that a text begins with: a proper name of letters that is not shouted."""
    name = proper(text)
    if not name or any(char.isdigit() for char in name) or _bare(name.split(" ", 1)[0]) in STATES:
        return ""
    shouted = name.isupper() and len(name) > _LOWER_OR_UPPER_ONE
    return "" if shouted else name


def titled(word: str) -> str:
    """Return a name that was written in lower case with its capital."""
    return "-".join(part[:1].upper() + part[1:] for part in word.split("-"))


def people(text: str) -> list[str]:
    """Return the names of a list such as 'Max, Lily and Zoe'; the list ends where something else begins."""
    found: list[str] = []
    rest = text.lstrip(" ,:")
    while (name := person(rest)) and len(found) < _MAX_PEOPLE:
        found.append(name)
        rest = rest[len(name) :]
        joint = _JOINT.match(rest)
        if joint is None:
            break
        rest = rest[joint.end() :]
    return found


_MAX_PEOPLE = 8
_JOINT = re.compile(r"(?:,? (?:and|&) |, )(?:(?:my|our|his|her) )?")
