"""What will happen and when: journeys, appointments, goals. A plan without a date is not kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import dates, phrases
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding

_DOING = re.compile(
    r"am (?P<verb>flying|going|travelling|traveling|visiting|meeting|moving|leaving|starting|taking|seeing|getting"
    r"|having|running|"
    r"hosting|throwing|driving|heading|attending|returning|arriving|presenting|defending|celebrating|graduating"
    r"|performing|speaking|"
    r"launching|opening|hiking|cycling|sailing|relocating|interviewing|renting|buying|adopting|joining|marrying"
    r"|turning)(?P<rest> .+)",
    re.IGNORECASE,
)
_GOING_TO = re.compile(r"(?i:am (?:going|planning|about|due|set|scheduled|supposed) to )(?P<what>[a-z]+(?: .+)?)$")
_WILL = re.compile(r"will (?:be )?(?P<what>(?:[a-z]+).*)$", re.IGNORECASE)
_WILL_BE = re.compile(r"will be (?P<verb>[a-z]+ing)?(?P<rest>.*)$", re.IGNORECASE)
_PROMISES = re.compile(
    r"(?:let|tell|send|think|try|see|do|get back|call|ask|check|take (?:it|that|this)|have (?:the|a) )\b", re.IGNORECASE
)
_OCCASION = (
    r"(?:(?:[\w'-]+ ){0,3}?(?:appointment|meeting|interview|exam|test|flight|check-?up|surgery|operation|wedding"
    r"|concert|"
    r"presentation|deadline|conference|class|lesson|reservation|date|party|audition|hearing|viewing|reunion|recital"
    r"|marathon|train|trip|holiday|vacation|graduation|scan|x-ray|haircut|lecture|defence|defense|call|race|exhibition"
    r"|competition|gig|shift))"
)
_HAVE = re.compile(
    rf"(?:have|have to go to|got|booked|have booked|scheduled|have scheduled) (?:an?|my|our|the) "
    rf"(?P<what>{_OCCASION})\b(?P<rest>.*)",
    re.IGNORECASE,
)
_MY_OCCASION = re.compile(
    rf"(?:my|our) (?P<what>{_OCCASION})(?: is| starts| begins| leaves| departs| takes place|'s| has been (?:moved"
    rf"|scheduled)(?: to| for)?| is scheduled| was moved| is booked| got moved| is due)(?P<rest> .+)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?:^| )(?P<time>at (?:noon|midnight|\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?| o'clock)?)(?![\d%]))", re.IGNORECASE
)
_HANGING = re.compile(
    r"(?:\s+(?:on|in|at|for|to|by|from|until|this|the|coming|scheduled|and|with))+\s*$|\s*[,.!]+\s*$", re.IGNORECASE
)
_GOAL = re.compile(
    r"(?:want|would like|hope|am (?:trying|hoping|learning|working|training|planning)|plan|am determined)(?: hard)? to "
    r"(?P<what>(?:learn|become|quit|stop|lose|save|improve|finish|write|publish|run a|run the|start my own|start a"
    r"|open my own|open a|"
    r"build|get fit|get in shape|get better at|master|speak|buy a house|buy a flat|eat healthier|exercise more|read "
    r"more|climb|complete|get a degree|play the|study|pass)\b.*)",
    re.IGNORECASE,
)
_SAVING = re.compile(r"am saving(?: up| money)? (?:for|to buy) (?P<what>.+)", re.IGNORECASE)
_TRAINING = re.compile(r"am (?:training|preparing|studying) for (?P<what>an? .+|the .+|my .+)", re.IGNORECASE)
_LEARNING = re.compile(r"am (?:learning|teaching myself) (?P<what>[a-z].+)", re.IGNORECASE)
_GOAL_NOUNS = frozenset(
    {"goal", "main goal", "biggest goal", "new year's resolution", "resolution", "aim", "goal for this year"}
)
_GOAL_TRAILING = re.compile(
    r",? (?:this|next) (?:year|month|summer|spring|autumn|winter)$|,? (?:some ?day|one day|soon)$", re.IGNORECASE
)
_NOT_LEARNED = re.compile(r"(?:to\b|that\b|how\b|about\b|a lot|so much|something|from\b|more\b)", re.IGNORECASE)
_MAX_PLAN_CHARS = 100
_MAX_WHERE_WORDS = 6


def find(clause: Clause, today: date) -> Iterator[Finding]:
    """Yield the speaker's dated plans and appointments, and lasting goals."""
    if match := _MY_OCCASION.match(clause.text):
        yield from _appointment(match, today)
        return
    if clause.who == "it" and clause.noun in _GOAL_NOUNS:
        yield from _goal(clause.predicate.removeprefix("to "))
    if clause.who != "user":
        return
    if match := _HAVE.match(clause.predicate):
        yield from _appointment(match, today)
    else:
        yield from _plans(clause, today)
        yield from _goals(clause.predicate, today)


def _appointment(match: re.Match[str], today: date) -> Iterator[Finding]:
    hit = dates.find(match["rest"], today, "future")
    what = phrases.clean(match["what"])
    if hit is None or hit.day < today or not what:
        return
    time = _TIME.search(match["rest"])
    where = phrases.collapsed(_HANGING.sub("", _TIME.sub("", match["rest"][: hit.start])))
    known = where.count(" ") < _MAX_WHERE_WORDS and where.startswith(("to ", "at ", "with ", "in ", "for "))
    value = " ".join([what, *([where] if known else []), *([time["time"].strip()] if time else [])])
    yield Finding("appointment", value, 0.9, when=hit.day)


def _plans(clause: Clause, today: date) -> Iterator[Finding]:
    predicate = clause.predicate
    if match := _GOING_TO.match(predicate):
        words = match["what"]
    elif match := _DOING.match(predicate):
        words = f"{phrases.base_form(match['verb'])}{match['rest']}"
    elif match := _WILL_BE.match(predicate):
        words = f"{phrases.base_form(match['verb'])}{match['rest']}" if match["verb"] else f"be {match['rest']}"
    elif (match := _WILL.match(predicate)) and _PROMISES.match(match["what"]) is None:
        words = match["what"]
    else:
        return
    yield from _dated_plan(words, clause.opening, today)


def _dated_plan(words: str, opening: str, today: date) -> Iterator[Finding]:
    """Yield a plan whose date stands in its words or in the opening: 'Tomorrow I'm seeing the dentist'."""
    hit = dates.find(words, today, "future")
    before = dates.find(opening, today, "future") if hit is None else None
    day = hit.day if hit else before.day if before else today
    if day < today or (day == today and "tonight" not in f"{opening} {words}".lower()):
        return
    value = (
        phrases.collapsed(_HANGING.sub("", words[: hit.start]) + " " + words[hit.end :].strip(" ,.!")) if hit else words
    )
    value = _HANGING.sub("", value)
    if " " in value and len(value) <= _MAX_PLAN_CHARS and "\ufffc" not in value:
        yield Finding("plan", value, 0.85, when=day)


def _goals(predicate: str, today: date) -> Iterator[Finding]:
    if dates.find(predicate, today, "future") and predicate.lower().startswith("am planning"):
        return
    if match := _GOAL.match(predicate):
        yield from _goal(match["what"])
    elif match := _SAVING.match(predicate):
        yield from _goal(f"save for {match['what']}")
    elif match := _TRAINING.match(predicate):
        yield from _goal(f"train for {match['what']}")
    elif (match := _LEARNING.match(predicate)) and _NOT_LEARNED.match(match["what"]) is None:
        yield from _goal(f"learn {match['what']}")


def _goal(text: str) -> Iterator[Finding]:
    words = _GOAL_TRAILING.sub("", phrases.clean_edges(phrases.head(text)))
    if " " in words and len(words) <= phrases.MAX_VALUE_CHARS and "\ufffc" not in words:
        yield Finding("goal", words, 0.85)
