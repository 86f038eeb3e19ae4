"""Ukrainian sentences into clauses, and when to stay silent.

A first-person verb names its subject itself ('живу'), a past verb does not ('переїхала'), so a clause also knows
whether
the speaker is its subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from memory.domain.statements.sentences import Sentence

MAX_CLAUSE_CHARS = 300
MAX_BORDERS = 100

_SUBJECT = (
    r"(?:я|ми|мені|мене|мій|моя|моє|мої|мого|мою|наш|наша|наші|[ув] мене|[ув] нас|він|вона|вони|воно|ти|ви|[ув] "
    r"(?:неї|нього|них))"
)
_VERB = (
    r"(?:не |більше не |вже не |зараз |тепер |також |дуже |часто )*(?:живу|живемо|мешкаю|проживаю|працюю|люблю"
    r"|обожнюю|ненавиджу|маю|"
    r"навчаюся|вчуся|переїхав|переїхала|переїхали|народився|народилася|граю|розмовляю|їм|п'ю|лечу|їду|живе|працює"
    r"|має|любить|хочу|терпіти|вирощую|захоплююся|займаюся|колекціоную)"
)
_SIDE = r"(?:але|бо|тому|хоча|якщо|якби|коли|що|щоб|який|яка|які|де|як|чи|поки|а)"
_BORDER = re.compile(
    rf"\s{{0,3}}[;()]\s{{0,3}}|,?\s{{1,3}}(?={_SIDE}\s)|,?\s{{1,3}}(?:і|й|та|а)\s{{1,3}}(?=(?:{_SUBJECT}|{_VERB})\b)"
    rf"|,\s{{1,3}}(?=(?:{_SUBJECT}|{_VERB})\b)|:\s{{1,3}}",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r"\s{0,3}(?:(?:і|й|та|а|але|бо|тому),?\s{1,3}){1,2}", re.IGNORECASE)
_OPENER = re.compile(
    r"(?:привіт|вітаю|доброго (?:дня|ранку|вечора)|добрий (?:день|ранок|вечір)|ну|так|ні|до речі|насправді|взагалі"
    r"|взагалі-то|вибач|вибачте|"
    r"також|і|й|та|а|але|бо|тому|зараз|тепер|наразі|сьогодні|чесно кажучи|будь ласка|ок|окей|отже|загалом|дякую|"
    r"торік|позаторік|цього року|(?:минулого|наступного) (?:року|місяця|тижня)|вчора|учора|завтра|післязавтра|"
    r"(?:запам'ятай|пам'ятай|май на увазі|знай|врахуй|зверни увагу|не забудь|нагадую|кажу ж|я казала|я казав|я вже "
    r"казала|я вже казав)(?:те|йте)?,? що|що)\b[\s,!:.–]*",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"(?i:я|ми)\b(?: (?:з|із|зі) (?:мам|тат|чоловік|дружин|сестр|брат|дітьми|родин|сім'|друз|хлопц"
    r"|дівчин)[а-яґєії']*)?\s*(?:–\s*)?"
)
_ADVERB = re.compile(
    r"(?:зараз|тепер|наразі|вже(?! не)|ще|також|теж|дуже|нещодавно|недавно|справді|постійно|завжди|дійсно|просто|"
    r"страшенно|найбільше|понад усе|часто|офіційно|нарешті|щойно)\s+",
    re.IGNORECASE,
)
_MAX_OPENERS = 5

_ASKS = re.compile(
    r"(?:(?:а|і|ну|то|привіт|слухай)[ ,]+)*(?:хто|що|де|як|коли|чому|скільки|який|яка|яке|які|чи|куди|звідки|навіщо"
    r"|ти|ви|можеш|можете|можна|пам'ятаєш|знаєш|підкажи|а ти)\b",
    re.IGNORECASE,
)
_UNMARKED = re.compile(
    r"(?:чи|скільки|хто) |(?:де|як|коли|чому|куди|звідки) (?:я|мене|мій|моя|ти|живу|працюю|моє)\b|що ти|як звати|ти "
    r"(?:пам'ятаєш|знаєш)",
    re.IGNORECASE,
)
_JOKE = re.compile(
    r"\b(?:жартую|жарт|жартома|(?:а?ха)?хаха(?:ха)*|ахах(?:ах)*а?|лол|хіхі)\b|[😂🤣😜😉🙃😝]", re.IGNORECASE
)
_TAKES_BACK = re.compile(r"(?:та )?(?:жартую|це жарт|жарт|лол)\b|(?:а?ха){2,}", re.IGNORECASE)
_UNREAL = re.compile(
    r"\b(?:б|би|якби|аби|хотів|хотіла|хотілося|уяви|уявімо|припустимо|скажімо|ніби|нібито|мовби|наче|у моєму "
    r"(?:романі|сні)|уві сні|снилося|наснилося|наснилось|у (?:романі|грі|фільмі|оповіданні|книзі))\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:(?:будь ласка|можеш|прошу)[ ,]+)*(?:переклади|напиши|виправ|уяви|склади|придумай|перепиши|перефразуй|удай"
    r"|створи|продовж|повтори|перевір|зіграймо|відредагуй)(?:те)?\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:будь ласка,? )?(?:розкажи|нагадай|подзвони|скажи|знайди|покажи|порадь|забронюй|поясни|допоможи|дай)(?:те"
    r"|іть)?\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:можливо|мабуть|напевно|певно|здається|може|ймовірно|сподіваюся|гадаю|думаю|мрію|хочу|планую|не впевнена"
    r"|не впевнений|раніше|колись|у дитинстві|в дитинстві|ніколи|майже|боюся|не думаю)\b",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:каже|кажуть|сказав|сказала|сказали|говорить|говорять|розповів|розповіла|пише|написав|написала|питає"
    r"|запитав|запитала|вважає|думає|стверджує|чув|чула|відповів|відповіла|жартує|за словами)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"(?:якщо|якби|коли|поки|щоб|чи|який|яка|які|де)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause.

    Args:
        raw: with openers, spaces collapsed.
        text: without openers.
        predicate: `text` without 'я' or 'ми' and without adverbs.
        start, end: span in the whole text.
        speaker: the speaker is named as the subject, or was in the clause before, or nobody is.
        explicit: 'я' or 'ми' was said.
    """

    raw: str
    text: str
    predicate: str
    start: int
    end: int
    speaker: bool
    explicit: bool


def takes_back(sentence: Sentence) -> bool:
    """Tell whether a sentence makes a joke of the one before."""
    return sentence.text.count(" ") <= 1 and _TAKES_BACK.match(sentence.text) is not None


def starts_task(sentence: Sentence) -> bool:
    """Tell whether the sentence makes all that follows material and not statement."""
    return _TASK.match(sentence.text) is not None


def spoken(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses of a sentence that the speaker asserts."""
    whole = " ".join(sentence.text.split())
    if any(p(whole) for p in (_UNMARKED.match, _JOKE.search, _UNREAL.search, _TASK.match, _COMMAND.match)):
        return
    clauses = list(_clauses(sentence))
    if sentence.asks:
        clauses = clauses[: next((i for i, (clause, _) in enumerate(clauses) if _ASKS.match(clause.text)), 0)]
    for clause, raw in clauses:
        if _SAYS.search(raw) or (" " not in raw and _HEDGE.search(raw)):
            return
        if _CONDITION.match(raw) is None and _HEDGE.search(raw) is None:
            yield clause


def _clauses(sentence: Sentence) -> Iterator[tuple[Clause, str]]:
    speaker = True
    for begin, end in _spans(sentence.text):
        conjunction = _CONJUNCTION.match(sentence.text, begin, end)
        start = conjunction.end() if conjunction else begin
        if end - start > MAX_CLAUSE_CHARS:
            continue
        raw = " ".join(sentence.text[start:end].split())
        clause = _clause(raw, sentence.start + start, sentence.start + end, speaker)
        speaker = (
            clause.explicit
            or (speaker and _VERB_FIRST.match(clause.predicate) is not None)
            or _MINE.match(clause.text) is not None
        )
        yield clause, raw


_VERB_FIRST = re.compile(rf"{_VERB}\b", re.IGNORECASE)
_MINE = re.compile(r"(?:мені|мене|[ув] мене|звати мене)\b", re.IGNORECASE)


def _clause(raw: str, start: int, end: int, speaker_before: bool) -> Clause:
    text = raw
    for _ in range(_MAX_OPENERS):
        match = _OPENER.match(text)
        if match is None or match.end() == 0:
            break
        text = text[match.end() :]
    subject = _SPEAKER.match(text)
    predicate = text[subject.end() :] if subject else text
    for _ in range(_MAX_OPENERS):
        match = _ADVERB.match(predicate)
        if match is None:
            break
        predicate = predicate[match.end() :]
    return Clause(
        raw, text, predicate, start, end, speaker=subject is not None or speaker_before, explicit=subject is not None
    )


def _spans(sentence: str) -> Iterator[tuple[int, int]]:
    begin = 0
    borders = list(islice(_BORDER.finditer(sentence), MAX_BORDERS))
    for match in borders:
        if match.start() <= begin:
            continue
        if _OPENER.fullmatch(sentence[begin : min(match.end(), begin + MAX_CLAUSE_CHARS)].strip() + " "):
            continue
        yield begin, match.start()
        begin = match.end()
    if begin < len(sentence) and len(borders) < MAX_BORDERS:
        yield begin, len(sentence)
