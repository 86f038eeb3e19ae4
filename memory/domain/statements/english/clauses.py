"""Sentences into clauses: one subject and what is said of it.

'I'm Olena, I moved to Lviv with my dog Biscuit, and I can't eat peanuts' holds three statements. A clause ends where a
new subject begins, where a conjunction opens a side sentence, or where 'and' is followed by another verb; lists such as
'jazz, tea and old maps' stay whole. Splitting is one pass of one pattern without nested repetition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from memory.domain.statements.english.openers import without_openers

MAX_CLAUSE_CHARS = 300
"""Longer stretches without any clause border are lists or noise; they are not read."""

MAX_BORDERS = 100
"""After so many borders the rest of a sentence is not read: a text made of borders would cost more than it can say."""

_NEW_SUBJECT = (
    r"(?:i|i'm|i've|i'll|i'd|im|ive|we|we're|we've|we'll|my|our|he|she|they|it|it's|he's|she's|they're|you|you're"
    r"|your|there|"
    r"his|her|their|its|this|that's|what|what's|how|who|where|can|could|do|does|did|is|are|will|would|should|now"
    r"|then|just kidding|please|call me|not|maybe|remember|note|keep in mind|don't forget)\b"
)
_NEW_VERB = (
    r"(?:(?:also|just|recently|really|currently|now|still|absolutely|never|sometimes|usually) )?"
    r"(?:(?:live|lives|lived|living|based|grew up|moved|relocated|work|works|worked|working|studying) "
    r"(?:in|at|as|for|to|from|with)\b"
    r"|(?:love|loves|like|likes|enjoy|enjoys|adore|adores|prefer|hate|hates|dislike|can'?t|cannot|don't|dont"
    r"|doesn't|"
    r"am|is|was|were|speak|speaks|teach|teaches|study|studies|own|owns|collect|drive|drives|avoid|avoids|adopted"
    r"|bought|"
    r"started|joined|quit|left|used to|will|got|had|have|has|play|plays|paint|run|go|born|eat|eats|drink|married"
    r"|allergic|originally|need|want)\b(?! (?:and|or)\b)(?=\s))"
)
_FRAGMENT = r"(?:\d{1,3}(?=[\s,]|$)|(?:an?|from|living|based|working|originally|married|mother|father|single)\s)"
_SIDE = (
    r"(?:but|because|although|though|whereas|if|unless|until|whether|when|whenever|except|however|"
    r"(?:since|so(?! you know)|while|as(?! you know)|where|before|after|once|and|or|plus|even though|in case)(?= "
    r"(?:i|i'm|i've|we|we're|my|our"
    r"|he|she|they|it|it's|you|there|no|please|the|that)\b))"
)
_BORDER = re.compile(
    rf"\s{{0,3}}[()]\s{{0,3}}|\s{{1,3}}[–-]{{1,2}}\s{{1,3}}|:\s{{1,3}}"
    rf"|,?\s{{1,3}}(?={_SIDE}\b)|,?\s{{1,3}}(?:and|or|plus|&)\s{{1,3}}(?={_NEW_SUBJECT}|{_NEW_VERB})"
    rf"|,\s{{1,3}}(?:then\s{{1,3}})?(?={_NEW_SUBJECT}|{_NEW_VERB}|who\b|which\b)"
    rf"|,\s{{1,3}}(?:and\s{{1,3}})?(?={_FRAGMENT})",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r"\s{0,3}(?:(?:and|but|or|plus|because|so|since|also|then),?\s{1,3}){1,2}", re.IGNORECASE)
_INTRODUCES = re.compile(r"(?:i'm|im|i am|my name is|my name's|we're|this is)\b", re.IGNORECASE)
_SOFT = re.compile(_FRAGMENT, re.IGNORECASE)
_HARD = re.compile(rf"(?:{_NEW_SUBJECT}|{_NEW_VERB})", re.IGNORECASE)
_LABEL = re.compile(r"(?:my|our)(?: [\w-]{1,20}){1,3}", re.IGNORECASE)


def spans(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each clause of a sentence, in order and without the border words."""
    begin = 0
    borders = list(islice(_BORDER.finditer(sentence), MAX_BORDERS))
    for match in borders:
        if match.start() <= begin or not _is_border(sentence, begin, match):
            continue
        yield begin, match.start()
        begin = match.end()
    if begin < len(sentence) and len(borders) < MAX_BORDERS:
        yield begin, len(sentence)


def conjunction_length(clause: str) -> int:
    """Return how many characters 'and', 'but' and the like take in front of a clause; an excerpt begins after them."""
    match = _CONJUNCTION.match(clause)
    return match.end() if match else 0


def starts_with_verb(text: str) -> bool:
    """Tell whether a clause begins with a verb or a fragment, so that its subject is the one before."""
    return _VERB.match(text) is not None


def is_fragment(text: str) -> bool:
    """Tell whether a clause is only the rest of 'I am …': 'a nurse', 'from Lviv', '34 years old'."""
    return _SOFT.match(text) is not None


_VERB = re.compile(_NEW_VERB, re.IGNORECASE)


def _is_border(sentence: str, begin: int, match: re.Match[str]) -> bool:
    """Tell whether the words before a border can stand alone, and those after it begin a clause there."""
    before = without_openers(" ".join(sentence[begin : min(match.start(), begin + MAX_CLAUSE_CHARS)].split()))
    after = sentence[match.end() : match.end() + MAX_CLAUSE_CHARS]
    if not before.strip(" ,"):
        return False
    if match[0].startswith(":"):
        return _LABEL.fullmatch(before) is None or _HARD.match(after) is not None
    if _SOFT.match(after) and not _HARD.match(after):
        return _INTRODUCES.match(before) is not None
    return True
