"""Likes, dislikes, favourites and hobbies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import phrases
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding
from memory.domain.statements.word_list import words

_LIKES = re.compile(
    r"(?:love|like|enjoy|adore|am fond of|am into|am a (?:big |huge |great |massive |real )?(?:fan|lover) of|am "
    r"crazy about|am obsessed with|am passionate about|am keen on|have always (?:loved|liked|enjoyed)) (?P<list>.+)",
    re.IGNORECASE,
)
_LIKES_TO = re.compile(r"(?:love|like) to (?P<verb>[a-z]+)(?P<rest>.*)", re.IGNORECASE)
_PREFERS = re.compile(r"prefer (?P<what>.+?)(?: (?:to|over|rather than|instead of) .+)?$", re.IGNORECASE)
_DISLIKES = re.compile(
    r"(?:hate|dislike|detest|loathe|can't stand|can't bear|can't abide|don't (?:like|enjoy|love|care for)|am not "
    r"(?:a (?:big |huge |great )?fan of|into|fond of|keen on|crazy about)|despise) (?P<list>.+)",
    re.IGNORECASE,
)
_NO_LONGER_LIKES = re.compile(
    r"(?:no longer|stopped) (?:love|like|enjoy|loving|liking|enjoying) (?P<list>.+)", re.IGNORECASE
)
_DENIED_LIKE = re.compile(r"don't (?:like|love|enjoy) (?P<list>.+)\b(?:any ?more|any longer)\b", re.IGNORECASE)
_PERSONAL = re.compile(
    r"(?:you|your|him|her|his|their|this|that|these|those|it|my|our|how|when|what|where|the (?:way|idea|fact|sound "
    r"of|look|one|"
    r"first|last|second|new|other|result|answer|plan|photo|picture|song|film|movie|book|dress|shirt|food there)|to|"
    r"(?:up|by|in|out|back|on|still|around|down|for)\b|reading (?:your|this|that)|talking (?:to|with) you|working "
    r"with you|being|having to|waiting|"
    r"[\w' ]*\b(?:yesterday|today|tonight|last (?:night|week|month|year|summer)|this (?:morning|week|year)|so far"
    r"|already|here|there|"
    r"right now|at the moment|a (?:coffee|tea|beer|glass|cup|table|room|seat|drink|second|copy|sandwich))\b)",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:my|our|i have a) (?:all-time |absolute |personal )?favou?rite (?P<noun>[a-z]+(?: [a-z]+)?)(?: (?:of all "
    r"time|ever|these days|is called|at the moment))?(?: is| are|'s|:) (?P<value>.+)",
    re.IGNORECASE,
)
_IS_FAVOURITE = re.compile(
    r"(?P<value>.{2,50}?) (?:is|are) (?:my|our) (?:all-time |absolute )?favou?rite (?P<noun>[a-z]+)$", re.IGNORECASE
)
_FAVOURITE_NOUNS = {
    "colour": "color", "colours": "color", "colors": "color", "movies": "movie", "film": "movie", "films": "movie",
    "tv show": "tv_show", "show": "tv_show", "series": "tv_show", "tv series": "tv_show",
}  # fmt: skip
_MAX_NOUN_CHARS = 40
_NOT_FAVOURITES = frozenset(
    {"one", "thing", "things", "part", "ones", "person", "people", "bit", "time", "place", "kind", "type"}
)

_PLAYS = re.compile(r"(?:play|am learning to play|have played|have been playing) (?P<list>.+)", re.IGNORECASE)
_PLAYED = re.compile(
    r"(?:guitar|electric guitar|acoustic guitar|bass|bass guitar|piano|violin|viola|cello|double bass|flute|clarinet"
    r"|saxophone|sax|trumpet|trombone|drums|ukulele|banjo|harp|accordion|bandura|harmonica|keyboards?|organ|oboe|"
    r"football|soccer|basketball|volleyball|tennis|table tennis|ping pong|badminton|squash|rugby|cricket|hockey|ice "
    r"hockey|baseball|"
    r"golf|handball|water polo|chess|go|poker|bridge|video games|computer games|board games|backgammon|darts|snooker"
    r"|pool|padel|dungeons & dragons|d&d|minecraft|padel)",
    re.IGNORECASE,
)
_GAME_END = re.compile(
    r" (?:in|with|every|on|twice|once|three|at|a (?:lot|bit)|since|for|professionally|competitively|regularly|when)\b",
    re.IGNORECASE,
)
_GOES = re.compile(
    r"(?:go|do) (?P<what>climbing|bouldering|running|jogging|swimming|hiking|skiing|snowboarding|surfing|sailing"
    r"|cycling|fishing|"
    r"diving|dancing|camping|birdwatching|kayaking|yoga|pilates|karate|judo|crossfit|pottery|ceramics|gymnastics"
    r"|boxing|ballet|"
    r"photography|woodworking|horse riding|horseback riding|skating|ice skating|rowing|archery|fencing|parkour|salsa"
    r"|tai chi|taekwondo|jiu-jitsu|calligraphy|embroidery|gardening|origami|triathlons|improv|stand-up)\b(?P<rest>.*)",
    re.IGNORECASE,
)
_ONE_OFF = re.compile(r"\b(?:today|tomorrow|tonight|next|this|later|with you|yesterday|soon)\b", re.IGNORECASE)
_COLLECTS = re.compile(r"collect (?P<what>.+)", re.IGNORECASE)
_COLLECTED_CHORES = re.compile(r"(?:my|the|your|his|her|dust|data|them|it|points|rent|unemployment)\b", re.IGNORECASE)
_HOBBY_NOUNS = frozenset(
    {
        "hobby", "hobbies", "main hobby", "favourite hobby", "favorite hobby", "hobbies and interests", "interests",
        "passion", "biggest passion", "new hobby", "passions",
    }
)  # fmt: skip


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield what the clause's subject likes, dislikes and does for fun."""
    if match := _FAVOURITE.match(clause.text) or _IS_FAVOURITE.match(clause.text):
        yield from _favourite(match)
    if clause.who == "it":
        if clause.noun in _HOBBY_NOUNS:
            yield from (Finding("hobby", value, 0.9) for value in phrases.items(clause.predicate))
        return
    if clause.plural:
        return
    yield from _likes(clause.predicate)
    yield from _dislikes(clause.predicate)
    yield from _hobbies(clause.predicate)


def _favourite(match: re.Match[str]) -> Iterator[Finding]:
    noun = match["noun"].lower()
    value = phrases.one(match["value"])
    if noun in _NOT_FAVOURITES or not value or value.lower() in ("boring", "important"):
        return
    key = _FAVOURITE_NOUNS.get(noun, noun.replace(" ", "_"))
    if key.isascii() and len(key) <= _MAX_NOUN_CHARS:
        yield Finding(f"favorite_{key}", value, 0.95)


def _likes(predicate: str) -> Iterator[Finding]:
    if match := _LIKES_TO.match(predicate):
        verb = match["verb"].lower()
        rest = phrases.head(match["rest"]).strip(" .!,")
        if verb not in _NOT_HOBBIES and (value := phrases.clean(f"{phrases.gerund(verb)} {rest}")):
            yield Finding("likes", value, 0.85)
    elif match := _LIKES.match(predicate):
        yield from _values("likes", match["list"])
    elif match := _PREFERS.match(predicate):
        value = phrases.one(match["what"])
        if value and _PERSONAL.match(value) is None and _PERSONAL.match(match["what"]) is None:
            yield Finding("likes", value, 0.85)


_NOT_HOBBIES = words("think know say see have be hear get go do believe make keep use take try know stay point mention")


def _values(key: str, text: str, confidence: float = 0.9, *, retract: bool = False) -> Iterator[Finding]:
    if _PERSONAL.match(text):
        return
    for value in phrases.items(text):
        if _PERSONAL.match(value) is None:
            yield Finding(key, value, confidence, retract=retract)


def _dislikes(predicate: str) -> Iterator[Finding]:
    if match := _DENIED_LIKE.match(predicate) or _NO_LONGER_LIKES.match(predicate):
        yield from _values("likes", match["list"], 0.85, retract=True)
    elif match := _DISLIKES.match(predicate):
        yield from _values("dislikes", match["list"])


def _hobbies(predicate: str) -> Iterator[Finding]:
    if match := _PLAYS.match(predicate):
        for value in phrases.items(match["list"]):
            game = _GAME_END.split(value, maxsplit=1)[0]
            if _PLAYED.fullmatch(game):
                yield Finding("hobby", game, 0.9)
    elif match := _GOES.match(predicate):
        if _ONE_OFF.search(match["rest"]) is None:
            yield Finding("hobby", match["what"].lower(), 0.85)
    elif (match := _COLLECTS.match(predicate)) and _COLLECTED_CHORES.match(match["what"]) is None:
        yield from (Finding("hobby", f"collecting {value}", 0.85) for value in [phrases.one(match["what"])] if value)
