"""Noun phrases as values: where one ends, how a list falls apart, what has to be trimmed, what says too little."""

from __future__ import annotations

import re

MAX_VALUE_CHARS = 60
MAX_VALUE_WORDS = 7
_MAX_ITEMS = 8

_STOP = re.compile(
    r"\s(?:because|since|so|but|when|whenever|which|that|who|if|although|though|while|whereas|than|unless|until|as "
    r"long as|"
    r"except|and (?:i|we|my|he|she|it|they|you|have|am|always|never|can't|don't)|even (?:if|though)|more than|over"
    r"|rather than|"
    r"instead of|whether|in case|i|especially|particularly|mostly|mainly|specifically|for example|like|such as)\b",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*,\s*(?:and |or |& )?|\s+(?:and|or|&|as well as)\s+", re.IGNORECASE)
_DETERMINER = re.compile(
    r"^(?:(?:a|an|the|some|any|all|all kinds of|lots of|a lot of|most|every|eating|drinking|having|little|a little|"
    r"a bit of|certain|really|very|also|just|only) )+(?=\S)",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"[\s,]+(?:too|as well|also|a lot|so much|very much|the most|most of all|the best|though|now|right now|these "
    r"days|nowadays|"
    r"lately|recently|any ?more|any longer|unfortunately|badly|severely|really|at all|at home|please|by the way|btw"
    r"|fyi|just so you know|as you know|ha(?:ha)+|"
    r"actually|either|in general|generally|you know|again|to be honest|tbh|for now|for sure|sadly|with a passion|"
    r"more than anything|to death|in particular|myself|all the time|every day|everyday|sometimes|often|usually"
    r"|occasionally|anyway|since birth|"
    r"for (?:a (?:long time|while|few \w+|couple of \w+|year|month|week)|many years|years|ages|ever|as long as.*|\w+ "
    r"(?:years|months|weeks|days)|now)|since .*)$",
    re.IGNORECASE,
)
_EDGES = " \t.,;:!?-–*_~\"'()[]{}<>/\\|…"
_SAYS_NOTHING = re.compile(
    r"(?:(?:it|this|that|these|those|them|they|him|her|he|she|you|me|us|everything|anything|nothing|something|everyone|"
    r"everybody|anyone|someone|nobody|people|stuff|things?|one|ones|lot|none|how|what|when|where|why|who|whether|being|"
    r"my|your|his|their|our|its|yours|mine|theirs|here|there|no|not|to|another|such|other|others|same|both|either"
    r"|too|so|as|each|much|many|more|less|enough|if|just|fyi|btw)\b.*|(?:a )?(?:new|old|good|bad|big|small|nice|lot"
    r"|bit|few))",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"\s(?:is|are|was|were|isn't|aren't)\s", re.IGNORECASE)


def head(text: str) -> str:
    """Return the phrase at the beginning of a text, up to the first word that opens something else."""
    match = _STOP.search(text)
    return text[: match.start()] if match else text


def clean(phrase: str) -> str:
    """Return a noun phrase without articles, trailing adverbs and punctuation; empty when it says nothing.

    Idempotent on its own results.
    """
    value = phrase.strip(_EDGES)
    while (shorter := _TRAILING.sub("", value).strip(_EDGES)) != value:
        value = shorter
    value = _DETERMINER.sub("", value).strip(_EDGES)
    return value if _is_value(value) else ""


def _is_value(value: str) -> bool:
    if not 1 < len(value) <= MAX_VALUE_CHARS or value.count(" ") >= MAX_VALUE_WORDS:
        return False
    if not any(char.isalpha() for char in value) or any(char in value for char in "\ufffc@#{}<>\\"):
        return False
    return _SAYS_NOTHING.fullmatch(value) is None and _SENTENCE.search(value) is None


def items(text: str) -> list[str]:
    """Return the clean phrases of a list such as 'jazz, old maps and tea'; what says nothing is left out."""
    values: list[str] = []
    for part in _SEPARATOR.split(head(text))[:_MAX_ITEMS]:
        value = clean(part)
        if value and value not in values:
            values.append(value)
    return values


def one(text: str) -> str:
    """Return the first phrase of a text, clean, or an empty text."""
    return clean(_SEPARATOR.split(head(text), maxsplit=1)[0])


_ING_IRREGULAR = {"lie": "lying", "die": "dying", "tie": "tying", "ski": "skiing", "be": "being", "see": "seeing"}
_DOUBLED = re.compile(r"(?:swim|run|jog|knit|sit|get|chat|plan|shop|travel|program|hit|cut|win|put|stop)$")
_BASE_IRREGULAR = {
    **{gerund: base for base, gerund in _ING_IRREGULAR.items()},
    "having": "have", "moving": "move", "leaving": "leave", "taking": "take", "making": "make", "driving": "drive",
    "getting": "get", "running": "run", "swimming": "swim", "starting": "start", "hosting": "host", "coming": "come",
    "giving": "give", "writing": "write", "riding": "ride", "celebrating": "celebrate", "arriving": "arrive",
    "travelling": "travel", "traveling": "travel", "planning": "plan", "shopping": "shop", "cycling": "cycle",
    "hiking": "hike", "relocating": "relocate", "graduating": "graduate", "changing": "change", "closing": "close",
    "presenting": "present", "defending": "defend", "skiing": "ski", "baking": "bake", "quitting": "quit",
    "saving": "save", "losing": "lose", "improving": "improve", "becoming": "become",
}  # fmt: skip


def gerund(verb: str) -> str:
    """Return the -ing form of a verb: cook, cooking; dance, dancing; swim, swimming."""
    if verb in _ING_IRREGULAR:
        return _ING_IRREGULAR[verb]
    if _DOUBLED.search(verb):
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("e") and not verb.endswith("ee"):
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


def base_form(gerund_form: str) -> str:
    """Return the verb of an -ing form for the verbs that plans are made of: flying, fly; moving, move."""
    lower = gerund_form.lower()
    return _BASE_IRREGULAR.get(lower) or lower.removesuffix("ing")


def clean_edges(text: str) -> str:
    """Return a text without punctuation and trailing adverbs; articles stay."""
    value = text.strip(_EDGES)
    return _TRAILING.sub("", value).strip(_EDGES)


def collapsed(text: str) -> str:
    """Return a text with single spaces and none at its ends."""
    return " ".join(text.split())
