"""What people do for a living and what they study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memory.domain.statements.english import names, phrases, places, words_places, words_work
from memory.domain.statements.english.clause import Clause
from memory.domain.statements.statement import Finding

_ARTICLE = r"(?:an?|the) "
_WORKS_AS = re.compile(
    rf"(?:work|am working|have worked|have been working|am employed|have a (?:new )?job|got a (?:new )?job"
    rf"|started(?: working)?|make (?:a|my) living)"
    rf"(?: (?:freelance|part-time|full-time|remotely))? as (?:{_ARTICLE})?(?P<role>.+)",
    re.IGNORECASE,
)
_BECAME = re.compile(
    rf"(?:have been |was |got |have )?(?:promoted to|became|become|made) (?:{_ARTICLE})?(?P<role>.+)", re.IGNORECASE
)
_IS_A = re.compile(r"(?:am|have been) (?:not just )?(?:an?|one of the|the) (?P<role>.+)", re.IGNORECASE)
_WORKS_FOR = re.compile(
    r"(?:work|am working|have worked|have been working|started(?: working| work| a (?:new )?job| my new job)?|am "
    r"employed|"
    r"have a (?:new )?job|got a (?:new )?job|got hired|was hired|have been hired|am interning|intern|got an offer)"
    r"(?: (?:part-time|full-time|remotely|there|now|as an? [\w -]{2,40}?))? (?:at|for|with|by) (?P<employer>.+)",
    re.IGNORECASE,
)
_JOINED = re.compile(r"(?:have )?joined (?P<employer>.+)", re.IGNORECASE)
_LEFT = re.compile(
    r"(?:(?:have )?(?:quit|left|resigned from|been fired from|been laid off from)|was fired from|was laid off from"
    r"|got fired from|"
    r"got laid off from|no longer work (?:at|for|with)|stopped working (?:at|for))(?: (?:my|the) (?:\w+ )?(?:job"
    r"|position|role))?(?: (?:at|with|in))? ?(?P<employer>.*)",
    re.IGNORECASE,
)
_LOST = re.compile(r"(?:have )?(?:lost my job|(?:was|got|been) (?:fired|laid off|made redundant))\b", re.IGNORECASE)
_DENIED = re.compile(r"(?:don't work|am not working) (?:at|for|with) (?P<employer>.+)", re.IGNORECASE)
_ANY_MORE = re.compile(r"\b(?:any ?more|any longer|now|these days)\b", re.IGNORECASE)
_WORKS_IN = re.compile(
    r"(?:work|am working|have worked|have been working)(?: \w+)? in (?:the field of )?(?P<field>.+)", re.IGNORECASE
)
_TEACHES = re.compile(r"(?:teach|am teaching) (?P<subject>[a-z]+)\b", re.IGNORECASE)
_STATUS = re.compile(
    r"(?:am|have|got) (?:been )?(?P<status>retired|unemployed|self-employed|freelancing|between jobs|out of work|on "
    r"maternity leave|on paternity leave|on parental leave)\b",
    re.IGNORECASE,
)
_FOR_MYSELF = re.compile(r"work for myself\b", re.IGNORECASE)
_RUNS = re.compile(
    rf"(?:run|own|have|started|opened|am running) (?:my own|our own|{_ARTICLE}) ?(?P<what>.+)", re.IGNORECASE
)
_JOB_NOUNS = frozenset(
    {"job", "profession", "occupation", "job title", "current job", "new job", "day job", "role", "trade"}
)
_EMPLOYER_NOUNS = frozenset({"employer", "company", "current employer", "new employer", "workplace"})

_ROLE_END = re.compile(
    r"(?:,| (?:at|for|with|in|from|of|by|on|based|working|and|but|who|that|here|now|by trade|right now|specialising"
    r"|to|since|near|nowadays|these days|turned|or|so|because|currently|living|as|when|during|after|until|yesterday|"
    r"today|last|this|next|again|too|myself)\b|[(.!?;–]| - )",
    re.IGNORECASE,
)
_HEADS_OF = re.compile(r"(?:head|director|vp|vice president|chief|manager|member|dean) of [\w ]{2,40}", re.IGNORECASE)
_AFTER_ROLE = re.compile(r"(?: and [\w ]{2,30}?)? (?:at|for|with) (?P<employer>.+)", re.IGNORECASE)
_ROLE_FROM = re.compile(r" from (?P<place>.+)", re.IGNORECASE)
_EMPLOYER_END = re.compile(
    r"(?: as | in | on | since | for | from | and | where |, |[(!?;–]|(?<![A-Z])\.(?=\s|$)| because | to | doing | "
    r"until | but "
    r"|(?: today| tonight| this week| right now| now| these days)\b)",
    re.IGNORECASE,
)
_AND_PARTNER = re.compile(r" & [A-Z][\w'-]{0,40}")
_CALLED = re.compile(r".{0,60}\b(?:called|named) (?P<name>.+)", re.IGNORECASE)
_AS_ROLE = re.compile(rf".{{1,80}}? as (?:{_ARTICLE})?(?P<role>.+)", re.IGNORECASE)
_GENERIC_EMPLOYER = re.compile(r"(?:the|a|an) (?:\w+[ -]){0,3}(?P<last>\w+)$", re.IGNORECASE)
_MAX_ROLE_WORDS = 5

_STUDIES = re.compile(
    r"(?:study|am studying|have been studying|am majoring in|major in|am doing (?:an?|my) (?:phd|master's|masters"
    r"|bachelor's|degree|"
    r"ma|msc|ba|bsc|mba)(?: degree)? in|have a degree in)(?! (?:for|hard|a lot|all|every|at home|with|late|abroad"
    r"|up)\b) (?P<what>.+)",
    re.IGNORECASE,
)
_STUDIES_AT = re.compile(
    r"(?:study|am studying|am an? (?:[\w-]+ ){0,3}student|attend|go to|am enrolled|started studying)(?: (?:at|in))? "
    r"(?P<school>.+)",
    re.IGNORECASE,
)
_SCHOOL = re.compile(r"\b(?:university|college|school|institute|academy|polytechnic|mit|conservatory)\b", re.IGNORECASE)
_AT = re.compile(r" (?:at|in) (?:the )?", re.IGNORECASE)
_STUDY_END = re.compile(
    r"(?: at | in | for | since | and (?:i|we|work)\b| this | next | because | with | online| remotely|, |[(.!?;–])",
    re.IGNORECASE,
)
_MAJOR_NOUNS = frozenset({"major", "degree", "subject", "field of study"})


def find(clause: Clause, _today: date) -> Iterator[Finding]:
    """Yield what the clause's subject does for a living, where, and what they study."""
    if clause.who == "it":
        yield from _by_noun(clause)
        return
    predicate = clause.predicate
    yield from _roles(predicate)
    yield from _employers(predicate)
    yield from _left(predicate)
    yield from _status(predicate)
    yield from _studies(predicate)


def role(text: str) -> str:
    """Return the occupation that a text begins with ('team lead at Acme' gives 'team lead'), or an empty text."""
    if (heads := _HEADS_OF.match(text)) and "member" not in heads[0].lower():
        return phrases.clean(_EMPLOYER_END.split(heads[0], maxsplit=1)[0])
    end = _ROLE_END.search(text)
    candidate = phrases.clean(text[: end.start()] if end else text)
    words = candidate.split(" ")
    known = words[-1].lower() in words_work.OCCUPATIONS and len(words) <= _MAX_ROLE_WORDS
    return candidate if known else ""


def employer(text: str) -> str:
    """Return the employer that a text begins with: a name, or 'the post office'; empty when it is neither."""
    end = _EMPLOYER_END.search(text)
    phrase = text[: end.start()] if end else text
    if called := _CALLED.match(phrase):
        return names.proper(called["name"])
    bare = phrase.removeprefix("the ").removeprefix("The ")
    if name := names.proper(bare):
        partner = _AND_PARTNER.match(bare[len(name) :])
        whole = f"{name}{partner[0]}" if partner else name
        return "" if name.lower() in words_places.COUNTRIES else whole
    if phrases.clean(phrase).lower() == "office":
        return ""
    generic = _GENERIC_EMPLOYER.match(phrases.clean_edges(phrase))
    if generic is None or generic["last"].lower() in words_work.NOT_EMPLOYERS:
        return ""
    return phrases.clean(phrase)


def _roles(predicate: str) -> Iterator[Finding]:
    if match := _WORKS_AS.match(predicate):
        yield from _role_and_employer(match["role"], loose=True)
    elif match := _BECAME.match(predicate) or _IS_A.match(predicate):
        yield from _role_and_employer(match["role"], loose=match.re is _BECAME and predicate.find("promoted") >= 0)
    elif (match := _TEACHES.match(predicate)) and match["subject"].lower() in words_work.SUBJECTS_TAUGHT:
        yield Finding("work_role", f"{match['subject']} teacher", 0.8)
    elif match := _RUNS.match(predicate):
        what = phrases.one(match["what"].split(" in ", 1)[0].split(" called ", 1)[0])
        if what.rsplit(" ", 1)[-1].lower() in words_work.BUSINESSES:
            yield Finding("owns", what, 0.85)


def _role_and_employer(text: str, *, loose: bool) -> Iterator[Finding]:
    """Read 'a nurse at the Royal Hospital'; loosely any phrase is a role when 'as' announced one."""
    found = role(text)
    if not found and loose:
        end = _ROLE_END.search(text)
        found = phrases.clean(text[: end.start()] if end else text)
    if not found:
        return
    yield Finding("work_role", found, 0.9)
    position = text.lower().find(found.lower()) + len(found)
    after = _AFTER_ROLE.match(text[position:])
    if after and not found.lower().endswith(("student", "undergraduate")) and (place := employer(after["employer"])):
        yield Finding("employer", place, 0.9)
    elif (origin := _ROLE_FROM.match(text[position:])) and (place := places.origin(origin["place"])):
        yield Finding("origin", place, 0.85)


def _employers(predicate: str) -> Iterator[Finding]:
    match = _WORKS_FOR.match(predicate) or _JOINED.match(predicate)
    if match is None:
        if (match := _WORKS_IN.match(predicate)) and (field := _field(match["field"])):
            yield Finding("work_field", field, 0.85)
        return
    found = employer(match["employer"])
    passing = match.re is _JOINED or predicate.lower().startswith("am working")
    if passing and not found[:1].isupper():
        return
    if found:
        yield Finding("employer", found, 0.9)
        if as_role := _AS_ROLE.match(match["employer"]):
            yield from (f for f in _role_and_employer(as_role["role"], loose=True) if f.key == "work_role")


def _field(text: str) -> str:
    end = _ROLE_END.search(text)
    phrase = (text[: end.start()] if end else text).strip(" .!,")
    lower = phrase.lower()
    return phrase if lower in words_work.FIELDS or lower in words_work.FIELD_PHRASES else ""


def _left(predicate: str) -> Iterator[Finding]:
    if _LOST.match(predicate):
        yield Finding("employer", "", 0.85, retract=True)
        return
    match = _LEFT.match(predicate)
    if match is None:
        match = _DENIED.match(predicate)
        if match is None or _ANY_MORE.search(predicate) is None:
            return
    found = employer(match["employer"])
    about_job = re.search(r"\b(?:job|work|working|resigned|fired|laid off)\b", predicate, re.IGNORECASE) is not None
    if about_job and (found or re.search(r"\bmy (?:\w+ )?job\b", predicate, re.IGNORECASE)):
        yield Finding("employer", found, 0.9, retract=True)


def _status(predicate: str) -> Iterator[Finding]:
    if match := _STATUS.match(predicate):
        yield Finding("work_status", match["status"].lower(), 0.9)
    elif predicate.rstrip(" .!").lower() in ("retired", "have retired"):
        yield Finding("work_status", "retired", 0.9)
    elif _FOR_MYSELF.match(predicate):
        yield Finding("work_status", "self-employed", 0.9)


def _studies(predicate: str) -> Iterator[Finding]:
    if match := _STUDIES.match(predicate):
        end = _STUDY_END.search(match["what"])
        what = phrases.clean(match["what"][: end.start()] if end else match["what"])
        if what and not _SCHOOL.search(what):
            yield Finding("studies", what, 0.85)
        at = _AT.search(match["what"])
        if at and (school := _school(match["what"][at.end() :])):
            yield Finding("school", school, 0.9)
    elif (match := _STUDIES_AT.match(predicate)) and (school := _school(match["school"])):
        yield Finding("school", school, 0.85)


def _school(text: str) -> str:
    name = names.proper(text.removeprefix("the ").removeprefix("at "))
    return name if name and _SCHOOL.search(name) else ""


def _by_noun(clause: Clause) -> Iterator[Finding]:
    value = clause.predicate
    if clause.noun in _JOB_NOUNS:
        if found := role(re.sub(r"^(?:an?|the|as an?) ", "", value, flags=re.IGNORECASE)):
            yield Finding("work_role", found, 0.85)
    elif clause.noun in _EMPLOYER_NOUNS:
        if (found := employer(value)) and found[0].isupper():
            yield Finding("employer", found, 0.85)
    elif clause.noun in _MAJOR_NOUNS and (found := phrases.one(value.removeprefix("in "))):
        yield Finding("studies", found, 0.8)
