"""Which of the recalled things answer a question: by topic, by the words they share with it, and by their rank.

Memory ranks generously, an answer must not: a thing is said only when its key belongs to the question's topic or when
it shares enough words with the question that are not in every other thing too. Saying less is the default.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mesh.models.phrasing.message import without_block
from mesh.models.phrasing.topics import MAX_RANK, asks_about_relation, key_rank, relations, wanted_keys
from mesh.models.protocols import ModelRequest, RecalledItem

MAX_FACTS = 3
MAX_EVIDENCE = 2
MAX_SUMMARY_FACTS = 8

_MAX_ITEMS = 100
_MAX_ITEM_CHARS = 1_000
_MAX_HISTORY = 50
_HALF = 0.5
_ENOUGH_WORDS = 2
_ORDER_WEIGHT = 0.5

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_STOP_WORDS_TEXT = """
    a about again all also am an and any anything are as at be been before but by can could d did do does doing don't
    for from
    get give go going got had has have he her here hers him his how i i'd i'll i'm i've if in into is it it's its just
    keep know
    let like ll many may me mean mind more most much must my need no not now of ok on once one or our out please re
    recall
    remember remind s said say she should so some something tell than thank thanks that the their them then there these
    they
    thing things think this those time to told too up us ve very want was we well were what what's when where which who
    whose
    why will with would yes you you're your yours
    а або але б би був була були було в вас вам ви від він вона вони воно все все-таки всі де для до є ж за з зі і із й
    його її
    їх коли ким кого ми мені мене мій моє мої моя на над нам нас не ні ну о один от під по при про саме свої скажи собі
    та так
    також там те тебе ти то тобі той ту тут у хто це ці ця чи що щоб як яка яке який які якщо я розкажи нагадай знаєш
    пам'ятаєш
    """
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
_ENDINGS = (
    "ingly", "ing", "edly", "ies", "ied", "es", "ed", "ly", "s", "'s", "ами", "ями", "ого", "ому", "ій", "ою", "ею",
    "ах", "ях", "ів", "ам", "у", "ю", "а", "я", "і", "и", "е", "о",
)  # fmt: skip
_MIN_STEM = 3
_ASKED = re.compile(r"\?\s*[\"')”»]*$")


@dataclass(frozen=True, slots=True)
class Selection:
    """What an answer is made of, best first."""

    facts: Sequence[RecalledItem] = ()
    evidence: Sequence[RecalledItem] = ()

    @property
    def empty(self) -> bool:
        return not self.facts and not self.evidence


def select(request: ModelRequest, question: str, own_names: Iterable[str] = ()) -> Selection:
    """Return what answers a question.

    Args:
        request: its recalled things and its history, whose user messages are evidence too.
        question: the words that ask.
        own_names: names of the assistant; what it said itself proves nothing.
    """
    assistants = {"assistant", "model", *(name.casefold() for name in own_names)}
    items = [item for item in request.recalled[:_MAX_ITEMS] if item.speaker.casefold() not in assistants]
    facts = [item for item in items if item.kind == "fact" and item.value.strip()]
    said = [*(item for item in items if item.kind != "fact"), *_history(request)]
    words = [_words_of(item) for item in said]
    weights = _weights(question, [*words, *(_words_of(item) for item in facts)])
    asked = _Question(question, wanted_keys(question), relations(question), weights)
    chosen = _facts(facts, asked)
    if chosen and asked.wanted:
        return Selection(chosen)
    evidence = _evidence(said, words, asked)
    return Selection(chosen, [item for item in evidence if not _restates(item, chosen)][:MAX_EVIDENCE])


def summary(request: ModelRequest) -> Selection:
    """Return what is known about the user as a whole: facts, or else a few of the user's own words."""
    facts = [item for item in request.recalled[:_MAX_ITEMS] if item.kind == "fact" and item.value.strip()]
    own = [item for item in facts if item.subject in ("", "user")]
    others = [item for item in facts if item.subject not in ("", "user")]
    chosen = _distinct([*own, *others])[:MAX_SUMMARY_FACTS]
    if chosen:
        return Selection(chosen)
    said = [item for item in [*request.recalled[:_MAX_ITEMS], *_history(request)] if item.kind != "fact"]
    return Selection((), [item for item in said if _is_own_statement(item)][:MAX_EVIDENCE])


def stems(text: str) -> list[str]:
    """Return the stems of a text's words that mean something, each once, in order."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text[:_MAX_ITEM_CHARS].casefold().replace("\u2019", "'").replace("_", " ")):
        if match[0] not in _STOP_WORDS:
            found[_stem(match[0])] = None
    return list(found)


@lru_cache(maxsize=8_192)
def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word[: -len(ending)]
    return word


def _history(request: ModelRequest) -> list[RecalledItem]:
    """Return the user's earlier messages as evidence without a date."""
    past = [message for message in request.messages[:-1][-_MAX_HISTORY:] if message.role == "user"]
    return [RecalledItem("chunk", "", without_block(message.text).strip(), speaker="user") for message in past]


def _words_of(item: RecalledItem) -> set[str]:
    return set(stems(f"{item.key} {item.value} {item.subject} {item.speaker} {item.text}"))


def _weights(question: str, things: Sequence[set[str]]) -> dict[str, float]:
    """Return the weight of each question word: the rarer, the more. Source: idf, Sparck Jones 1972."""
    counts = Counter(word for words in things for word in words)
    return {word: math.log(1 + (len(things) + 1) / (counts[word] + 1)) for word in stems(question)}


def _overlap(words: set[str], weights: dict[str, float]) -> tuple[int, float]:
    """Return how many question words a thing has, and their share of the question's whole weight."""
    shared = [weight for word, weight in weights.items() if word in words]
    whole = sum(weights.values())
    return len(shared), sum(shared) / whole if whole else 0.0


def _facts(facts: Sequence[RecalledItem], question: _Question) -> list[RecalledItem]:
    """Return the facts that answer: of the person asked about, of the topic, or else those that share enough words."""
    about = _about_others(facts, question)
    if not about and not asks_about_relation(question.text):
        about = [fact for fact in facts if _is_own(fact) and question.rank(fact) < MAX_RANK]
        about = about or [fact for fact in facts if question.names(fact) or question.shares_words(fact)]
    order = {id(fact): place for place, fact in enumerate(facts)}
    about.sort(key=lambda fact: (question.rank(fact), -question.share(fact), order[id(fact)]))
    return _distinct(about)[:MAX_FACTS]


def _about_others(facts: Sequence[RecalledItem], question: _Question) -> list[RecalledItem]:
    """Return the facts of a person whom the question speaks of; asked about a relative, their names count too."""
    on_topic = [fact for fact in facts if question.names(fact) and question.rank(fact) < MAX_RANK]
    if on_topic or not asks_about_relation(question.text):
        return on_topic
    return [fact for fact in facts if question.names(fact) or (question.rank(fact) < MAX_RANK and _is_name(fact))]


def _is_own(fact: RecalledItem) -> bool:
    return fact.subject in ("", "user")


def _is_name(fact: RecalledItem) -> bool:
    return _is_own(fact) and fact.key.endswith("_name")


@dataclass(frozen=True, slots=True)
class _Question:
    """A question as facts are compared with it.

    Args:
        text: its words.
        wanted: keys that bear on it, most important first.
        people: relatives that it speaks of.
        weights: its words' stems and how much each says.
    """

    text: str
    wanted: Sequence[str]
    people: set[str]
    weights: dict[str, float]

    def rank(self, fact: RecalledItem) -> int:
        return key_rank(fact, self.wanted)

    def share(self, fact: RecalledItem) -> float:
        return _overlap(set(stems(f"{fact.key} {fact.value}")), self.weights)[1]

    def shares_words(self, fact: RecalledItem) -> bool:
        shared, share = _overlap(set(stems(f"{fact.key} {fact.value}")), self.weights)
        return shared > 0 and (share >= _HALF or not self.wanted)

    def names(self, fact: RecalledItem) -> bool:
        """Tell whether the question speaks of the person that a fact is about, by relation or by name."""
        relation, _, name = fact.subject.removeprefix("user").strip(".").partition(".")
        if name or not fact.subject.startswith("user"):
            return any(word in self.weights for word in stems(f"{relation if not name else ''} {name}"))
        return relation in self.people


def _evidence(items: Sequence[RecalledItem], words: Sequence[set[str]], question: _Question) -> list[RecalledItem]:
    """Return what was said that shares enough words with the question; what was asked itself says nothing."""
    needed = min(_ENOUGH_WORDS, len(question.weights))
    scored: list[tuple[float, RecalledItem]] = []
    for order, (item, own) in enumerate(zip(items, words, strict=True)):
        if not item.text.strip() or _ASKED.search(item.text) or item.text.strip() == question.text.strip():
            continue
        shared, share = _overlap(own, question.weights)
        if shared and (shared >= needed or share >= _HALF):
            scored.append((share - _ORDER_WEIGHT * order / len(items), item))
    scored.sort(key=lambda pair: -pair[0])
    return _distinct([item for _, item in scored])


def _restates(item: RecalledItem, facts: Sequence[RecalledItem]) -> bool:
    """Tell whether evidence says nothing but what chosen facts say."""
    return any(fact.text and fact.text.strip() in item.text for fact in facts)


def _is_own_statement(item: RecalledItem) -> bool:
    return item.speaker.casefold() in ("", "user") and bool(item.text.strip()) and _ASKED.search(item.text) is None


def _distinct(items: Sequence[RecalledItem]) -> list[RecalledItem]:
    seen: dict[tuple[str, str, str], RecalledItem] = {}
    for item in items:
        identity = (
            (item.subject, item.key, item.value.casefold()) if item.kind == "fact" else ("", "", item.text.strip())
        )
        seen.setdefault(identity, item)
    return list(seen.values())
