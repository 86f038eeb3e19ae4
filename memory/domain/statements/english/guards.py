"""When to stay silent: questions, conditions, hearsay, jokes, fiction, tasks about text.

A wrong fact costs more than a missed one, so a guard may silence too much. What is negated needs no guard here: rules
match the whole predicate from its first word, and 'don't live in' is not 'live in'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.domain.statements.english.clause import Clause
from memory.domain.statements.sentences import Sentence

_LEAD = r"(?:(?:and|so|but|ok|okay|well|then|now|hey|hi|please|btw|by the way|also|sorry|um|hmm|oh)\b[ ,]{0,2}){0,3}"
_WH = r"(?:who|whom|whose|what|where|when|why|how|which)"
_DO = (
    r"(?:is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|isn't|aren't|don't"
    r"|doesn't|didn't|can't|couldn't|won't|wouldn't|haven't|hasn't)"
)
_SOMEONE = r"(?:i|you|he|she|it|we|they|my|your|his|her|our|their|the|this|that|there|anyone|someone)"
_INTERROGATIVE = re.compile(
    rf"{_LEAD}(?:{_WH}\b|{_DO} {_SOMEONE}\b|(?:how|what) about\b|and you\b|you\??$|any (?:idea|chance)\b|wanna\b"
    rf"|ready\b)",
    re.IGNORECASE,
)
_UNMARKED_QUESTION = re.compile(
    rf"{_LEAD}(?:{_WH}(?:'s|s| {_DO})\b|how (?:many|much|old|long|often)\b|(?!don't|do )(?:{_DO}) (?:i|you|we|they"
    rf"|he|she|my)\b|do (?:i|you|we|they) |what if\b)",
    re.IGNORECASE,
)
_JOKE = re.compile(
    r"\b(?:just kidding|kidding|joking|j/k|jk|lol|lmao|rofl|haha(?:ha)*|hehe(?:he)*|yeah,? right|in my dreams|"
    r"sarcasm|said no one ever|as if)\b|[😂🤣😜😉🙃😝]|(?:^|\s)/s(?:\s|$)",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(r"(?:just |only )?(?:kidding|joking)\b|jk\b|not really$|lol$|(?:ha){2,}", re.IGNORECASE)
_SARCASM = re.compile(
    r"\b(?:i|we) (?:just|simply|absolutely) (?:love|adore) (?:\w+ing|it|when|how|that)\b|^oh,? (?:great|wonderful"
    r"|joy|fantastic)\b|\bjust what i needed\b",
    re.IGNORECASE,
)
_FICTION = re.compile(
    r"\b(?:in (?:my|the|this|a|our) (?:\w+ )?(?:novel|story|book|dream|dreams|game|film|movie|play|song|poem|script"
    r"|campaign|"
    r"simulation|scenario|fantasy)|(?:i|we) (?:\w+ )?(?:dreamed|dreamt|imagined|pretended)|my character|in another "
    r"life|in a past life|hypothetically|let's (?:say|pretend|imagine|suppose|assume)|once upon a time|as a joke)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:(?:please|can you|could you|now|ok|okay|hey|hi|help me(?: to)?|i want you to|i need you to|would "
    r"you)\b[ ,]{0,2}){0,3}"
    r"(?:translate|write|rewrite|draft|compose|proofread|correct|fix|edit|paraphrase|summari[sz]e|generate|create"
    r"|pretend|imagine|suppose|role-?play|act (?:as|like)|play the role|repeat after|repeat|say|improve|polish|rephrase"
    r"|analy[sz]e|complete|continue|picture this|spell|read)\b(?! (?:no\b|more\b))",
    re.IGNORECASE,
)
_TASK_HERE = re.compile(r"(?:say|suppose|imagine|spell|read|create|fix)\b", re.IGNORECASE)
_SAYS = re.compile(
    r"\b(?:says?|said|saying|told|tells?|thinks?|thought|claims?|claimed|believes?|believed|asked|asks|wrote|writes"
    r"|mentions?|"
    r"mentioned|insists?|insisted|joked|shouted|replied|answered|read|reads|heard|swears|swore|assumes?|pretends?"
    r"|guesses)\b"
    r"(?: (?:to )?(?:me|us|him|her|them|you|everyone))?(?:,|:| that\b| if\b| whether\b| (?:i|he|she|they|it|we|you"
    r"|my|his|her|your)\b|\s*\ufffc|\s*$)|\baccording to\b|\bapparently\b|\bsupposedly\b|\brumou?r has\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:(?:and|but|or|even|only|just|so) )?(?:if|unless|whether|suppose|supposing|assuming|imagine|as if|as though"
    r"|provided|when|whenever|once|until|till|before|in case|wish|where|like)\b",
    re.IGNORECASE,
)
_TRAILING_CONDITION = re.compile(r"(?:only |even )?(?:if|unless|whether|provided|as if|as though)\b", re.IGNORECASE)
_MODAL = re.compile(r"\b(?:would|wouldn't|could|couldn't|might|will|won't|should|shall)\b|\w'(?:d|ll)\b", re.IGNORECASE)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|i guess|i suppose|not sure|i think|i doubt|i hope|i wonder|i wish"
    r"|seems?|who knows|what if|allegedly|almost|nearly|pretending|feel like|as good as|sort of|i imagine)\b",
    re.IGNORECASE,
)
_SHORT_WORDS = 5
_BARE_HEDGE_WORDS = 2


def starts_task(sentence: Sentence) -> bool:
    """Tell whether a sentence asks for work on a text or opens a fiction, so that all that follows is material."""
    return _TASK.match(sentence.text) is not None and _TASK_HERE.match(sentence.text) is None


def takes_back(sentence: Sentence) -> bool:
    """Tell whether a short sentence turns the one before it into a joke."""
    return sentence.text.count(" ") < _SHORT_WORDS and _TAKES_BACK.match(sentence.text) is not None


def silent_sentence(sentence: Sentence) -> bool:
    """Tell whether nothing in a sentence may become a fact."""
    text = " ".join(sentence.text.split())
    patterns = (_TASK.match, _UNMARKED_QUESTION.match, _JOKE.search, _SARCASM.search, _FICTION.search)
    return any(pattern(text) for pattern in patterns)


def spoken_clauses(sentence: Sentence, clauses: Sequence[Clause], raw: Sequence[str]) -> list[Clause]:
    """Return the clauses that the speaker asserts.

    Args:
        sentence: the sentence.
        clauses: its clauses, in order.
        raw: the words of each clause with its openers, spaces collapsed.
    """
    kept = _before_question(sentence, clauses, raw)
    silent: set[int] = set()
    for index in range(kept):
        silent |= _silenced_by(sentence, raw, index)
    return [clause for index, clause in enumerate(clauses[:kept]) if index not in silent]


def _before_question(sentence: Sentence, clauses: Sequence[Clause], raw: Sequence[str]) -> int:
    """Return how many clauses stand before a question; all of them when nothing is asked."""
    if not sentence.asks:
        return len(clauses)
    for index, words in enumerate(raw):
        if _INTERROGATIVE.match(words) or _INTERROGATIVE.match(clauses[index].text):
            return index
    return 0


def _silenced_by(sentence: Sentence, raw: Sequence[str], index: int) -> set[int]:
    """Return the clauses that one clause silences."""
    words = raw[index]
    following = set(range(index, len(raw)))
    if _SAYS.search(words) and not _OWN_WORDS.match(words):
        return following
    if index and _TRAILING_CONDITION.match(words):
        return following | {index - 1}
    if _CONDITION.match(words):
        return following if _MODAL.search(sentence.text) else {index} | _joined(raw, index)
    if _HEDGE.search(words) is None:
        return set()
    return following if words.count(" ") < _BARE_HEDGE_WORDS else {index}


_OWN_WORDS = re.compile(
    r"(?:.{0,20}\b)?i(?:'ve| have)? ?(?:already |just )?(?:said|told|mentioned|meant)\b", re.IGNORECASE
)


def _joined(raw: Sequence[str], index: int) -> set[int]:
    """Return the clauses that belong to the same condition: those joined to it by a verb alone."""
    joined: set[int] = set()
    for position in range(index + 1, len(raw)):
        if _FRESH.match(raw[position]):
            break
        joined.add(position)
    return joined


_FRESH = re.compile(
    r"(?:please |just |then |and |but |so )*(?:i|i'm|i've|im|we|we're|my|our|remember|note|keep|don't forget|you)\b",
    re.IGNORECASE,
)
