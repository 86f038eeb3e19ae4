"""One clause as the rules see it: who it is about, and what is said in one canonical spelling.

The predicate is rewritten so that a rule has one form to match: contractions are opened ('I'm' is 'am', 'I've got' is
'have'), the third person becomes the first ('my sister lives' reads 'live'), and adverbs that change nothing are
dropped.
Negations and modals stay, so an anchored rule for 'live in' can match neither 'don't live in' nor 'would live in'.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from memory.domain.statements.english import names
from memory.domain.statements.english.clauses import is_fragment, starts_with_verb
from memory.domain.statements.english.openers import without_openers
from memory.domain.statements.english.words_family import PEOPLE_ADJECTIVES, RELATIONS, Relation
from memory.domain.statements.word_list import words


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause.

    Args:
        text: from its subject on, spaces collapsed.
        start: where it begins in the whole text, openers included; a clause that shares its subject begins with it.
        end: where it ends there.
        who: `user`, a relation's word such as `sister`, `it` for a named thing, or empty when it is about others.
        predicate: canonical words after the subject; empty when there are none.
        plural: the subject was 'we' or 'our'.
        relation: set when `who` is a relation.
        relation_name: the relation's name when it was given here.
        noun: X of 'my X is …', lower case; empty otherwise.
        opening: the words before the subject, such as 'Last month'.
    """

    text: str
    start: int
    end: int
    who: str = ""
    predicate: str = ""
    plural: bool = False
    relation: Relation | None = None
    relation_name: str = ""
    noun: str = ""
    opening: str = ""


_SPEAKER = re.compile(
    r"(?P<who>i|we|(?:our family|my family and i|both of us)(?= \w))(?P<aux>'m|'re|'ve|'ll|'d| am| are| were)?\b(?= "
    r"|$)|(?P<chat>im|ive)\b(?= )",
    re.IGNORECASE,
)
_AUX = {"'m": "am", "'re": "am", " am": "am", " are": "am", " were": "was", "'ve": "have", "'ll": "will", "'d": "would",
        "im": "am", "ive": "have"}  # fmt: skip
_RELATED = re.compile(
    rf"(?:my|our) (?:{PEOPLE_ADJECTIVES} "
    rf"){{0,3}}(?P<rel>{'|'.join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_CALLED = re.compile(r",? ?(?:called |named )?", re.IGNORECASE)
_IS_CONTRACTED = re.compile(r"'s (?=(?:an?|in|at|from|allergic|living|working|vegan|vegetarian|\d)\b)", re.IGNORECASE)
_NOUN = re.compile(r"(?:my|our) (?P<noun>[\w' -]{1,60}?)(?: is| are|'s|:) (?P<value>.+)", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|who)(?P<be>'s)? ", re.IGNORECASE)
_THIRD_VERB = re.compile(
    r"(?:is|has|was|lives|works|loves|likes|hates|speaks|studies|plays|owns|enjoys|eats|doesn't)\b", re.IGNORECASE
)

_FIRST_PERSON = {
    "is": "am", "are": "am", "has": "have", "lives": "live", "works": "work", "loves": "love", "likes": "like",
    "enjoys": "enjoy", "adores": "adore", "prefers": "prefer", "hates": "hate", "dislikes": "dislike",
    "speaks": "speak",
    "studies": "study", "teaches": "teach", "plays": "play", "owns": "own", "drives": "drive", "collects": "collect",
    "avoids": "avoid", "eats": "eat", "runs": "run", "paints": "paint", "comes": "come", "goes": "go", "were": "was",
    "attends": "attend", "does": "do", "doesn't": "don't", "suffers": "suffer",
}  # fmt: skip
_SPELLINGS = (
    (re.compile(r"^(?:do not|don'?t|does not|does(?:n't|nt))\b", re.IGNORECASE), "don't"),
    (re.compile(r"^(?:cannot|can'?t|can not)\b", re.IGNORECASE), "can't"),
    (re.compile(r"^(?:isn'?t|aren'?t|ain't)\b", re.IGNORECASE), "am not"),
    (re.compile(r"^have (?:got|gotten) (?=an? )", re.IGNORECASE), "have "),
    (re.compile(r"^have got\b", re.IGNORECASE), "have"),
)
_AUXILIARIES = words("am was have had will would can can't don't do not didn't haven't won't got been be")
_ADVERBS = words(
    "really also just still currently actually now absolutely truly totally always usually mostly only recently "
    "simply both "
    "already honestly definitely generally even sometimes often finally completely strictly mainly normally presently "
    "temporarily kinda extremely very super deeply highly badly severely seriously officially literally obviously"
)
_READ_AHEAD = 7


def read(text: str, start: int, end: int, before: Clause | None) -> Clause:
    """Return the clause of a piece of a sentence.

    Args:
        text: the piece as it stands in the sentence.
        start: where it begins in the whole text.
        end: where it ends there.
        before: the clause before it in the same sentence, whose subject it may share.
    """
    whole = " ".join(text.split())
    words = without_openers(whole)
    clause = _speaker(words, start, end) or _related(words, start, end) or _named(words, start, end)
    clause = clause or _inherited(words, end, before) or Clause(words, start, end)
    return replace(clause, opening=whole[: len(whole) - len(words)])


def canonical(predicate: str) -> str:
    """Return a predicate in the one spelling that rules match."""
    words = predicate.strip(" ,").split(" ")
    words[0] = _FIRST_PERSON.get(words[0].lower(), words[0])
    joined = " ".join(words)
    for pattern, spelling in _SPELLINGS:
        joined = pattern.sub(spelling, joined)
    return _without_adverbs(joined.split(" "))


def _without_adverbs(words: list[str]) -> str:
    kept: list[str] = []
    for index, word in enumerate(words[:_READ_AHEAD]):
        lower = word.lower()
        if lower in _ADVERBS:
            continue
        kept.append(_FIRST_PERSON.get(lower, word) if not kept else word)
        if lower not in _AUXILIARIES:
            return " ".join([*kept, *words[index + 1 :]])
    return " ".join([*kept, *words[_READ_AHEAD:]])


def _speaker(words: str, start: int, end: int) -> Clause | None:
    match = _SPEAKER.match(words)
    if match is None:
        return None
    aux = _AUX.get((match["aux"] or match["chat"] or "").lower(), "")
    predicate = canonical(f"{aux} {words[match.end() :].strip()}".strip())
    return Clause(words, start, end, "user", predicate, plural=(match["who"] or "i").lower() != "i")


def _related(words: str, start: int, end: int) -> Clause | None:
    """Read 'my older sister, Kate, lives …'; a possessive ('my sister's dog') is about something else."""
    match = _RELATED.match(words)
    if match is None:
        return None
    relation = RELATIONS[match["rel"].lower()]
    rest = _IS_CONTRACTED.sub(" is ", words[match.end() :], count=1)
    if rest.startswith("'"):
        return _named(words, start, end) or Clause(words, start, end)
    compound = _NOUN.match(words)
    called = _CALLED.match(rest)
    after = rest[called.end() :] if called else rest
    name = names.person(after)
    if not name and compound is not None and not compound["noun"].lower().endswith(match["rel"].lower()):
        return _named(words, start, end)
    predicate = canonical(after[len(name) :] if name else rest)
    return Clause(words, start, end, relation.subject, predicate, words[:3].lower() == "our", relation, name)


def _named(words: str, start: int, end: int) -> Clause | None:
    match = _NOUN.match(words)
    if match is None:
        return None
    return Clause(words, start, end, "it", match["value"].strip(), noun=match["noun"].lower().strip())


def _inherited(words: str, end: int, before: Clause | None) -> Clause | None:
    if before is None or before.who == "":
        return None
    if before.who == "it":
        introduced = before.noun in ("name", "first name") and is_fragment(words)
        return Clause(words, before.start, end, "user", canonical(f"am {words}")) if introduced else None
    pronoun = _PRONOUN.match(words)
    if pronoun is not None and before.relation is not None:
        predicate = f"{'is ' if pronoun['be'] else ''}{words[pronoun.end() :]}"
    elif is_fragment(words) and before.who == "user":
        predicate = f"am {words}"
    elif starts_with_verb(words) and (before.relation is not None) == (_THIRD_VERB.match(words) is not None):
        predicate = words
    else:
        return None
    return Clause(
        words, before.start, end, before.who, canonical(predicate), before.plural, before.relation, before.relation_name
    )
