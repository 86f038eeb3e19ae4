"""What a message wants: to greet, to tell, to ask, to have work done.

The last message of a request may carry a fenced block of recalled text in front; the responder gets that as values, so
the block is cut off here and never read as the user's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "uk"]
Act: TypeAlias = Literal[
    "greeting", "thanks", "farewell", "assistant", "summary", "question", "task", "statement", "other"
]

MAX_MESSAGE_CHARS = 8_000
"""What is past this is not read: an answer quotes two or three lines anyway."""

_BLOCK = re.compile(r"\s*<([a-z][a-z_-]{0,40})>\n")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_MAX_SENTENCES = 40

_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LATIN = re.compile(r"[A-Za-z]")
_NOT_UKRAINIAN = re.compile(r"[ыэёъ]", re.IGNORECASE)

_OPENERS = re.compile(
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|ok|okay|so|well|and|but|please|thanks|thank you|also|now"
    r"|by the way|btw|actually|in fact|honestly|anyway|currently|recently|unfortunately|sorry|correction|взагалі"
    r"|насправді|"
    r"oh|yes|no|привіт|вітаю|добрий (?:день|вечір|ранок)|доброго (?:дня|ранку|вечора)|а|і|ну|так|ні|будь ласка|дякую"
    r"|до речі)(?=[\s,.!:]|$)[\s,.!:–-]*){1,4}",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|day)|greetings|yo|привіт\w*|вітаю|добрий (?:день"
    r"|вечір|ранок)|доброго (?:дня|ранку|вечора))(?:[ ,]+(?:there|everyone|all|again|[\w'-]{1,20}))?[\s.!,)]*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:many |ok,? |okay,? |great,? |perfect,? |cool,? )?(?:thanks|thank you|thx|cheers|дякую|спасибі"
    r"|вдячн\w+)\b[^?]{0,60}",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"(?:ok,? )?(?:bye|goodbye|good night|see you|see ya|farewell|до побачення|бувай|на добраніч|до "
    r"зустрічі)\b[^?]{0,40}",
    re.IGNORECASE,
)
_ASSISTANT = re.compile(
    r"(?:who|what) are you\b|what(?:'s| is) your name|are you (?:an? )?(?:human|bot|robot|ai|real|model|chatgpt|llm)"
    r"|what can you do|"
    r"how do you work|which model|what model|хто ти\b|як тебе звати|як вас звати|хто ви\b|що ти (?:вмієш|можеш)|ти "
    r"(?:бот|людина|модель)",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"\b(?:(?:do|did|have) you (?:know|remember|learned|got|have) (?:\w+ )?(?:about|of|on) me\b|what (?:have|did) i "
    r"(?:tell|told) you(?! about)|"
    r"who am i\b|tell me (?:everything|all)? ?(?:you know )?about (?:me|myself)\b|describe me\b|what do you "
    r"remember\??$|summari[sz]e (?:what you know about )?me\b|everything you know about me|what you know about me)|"
    r"(?:що|шо) (?:ти|ви) (?:про мене )?(?:знаєш|знаєте|пам'ятаєш|пам'ятаєте)(?: про мене)?|розкажи(?:те)? (?:все "
    r")?про мене|хто я\b",
    re.IGNORECASE,
)
_QUESTION_START = re.compile(
    r"(?:who|whom|whose|what|what'?s|where|where's|when|when's|why|how|how's|which|is|are|am|was|were|do|does"
    r"|did|can|could|will|would|should|shall|may|might|have|has|had|isn't|aren't|don't|doesn't|didn't)\b|"
    r"(?:tell me|remind me|show me|list|give me|do you (?:know|remember)|recall|"
    r"suggest|recommend|propose|advise me|any idea|i wonder|i'd like to know"
    r"|let me know)\b|"
    r"(?:хто|що|де|як|коли|чому|скільки|який|яка|яке|які|чи|куди|звідки|навіщо|нагадай|скажи|розкажи|підкажи"
    r"|порадь)\w{0,4}\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"(?:i|i'm|i've|i'll|i'd|im|ive|we|we're|we've|my|our)\b", re.IGNORECASE)
_FIRST_PERSON_UK = re.compile(
    r"(?:я|ми|мене|мені|мій|моя|моє|мої|мого|мою|наш\w*|[ув] мене|[ув] нас|звати мене|живу|працюю|люблю|не люблю"
    r"|мешкаю|маю|переїха\w+)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:can you |could you |please |would you )*(?:write|draft|translate|compose|summari[sz]e|generate|create|draw"
    r"|calculate|compute|"
    r"solve|code|program|book|order|call|send|explain|search|find|play|set|buy|make me|help me (?:write|with)|"
    r"(?:tell|sing|read)(?: me| us)? (?:an?|another|some) |"
    r"напиши|переклади|порахуй|склади|створи|намалюй|забронюй|знайди|поясни|замов)\w{0,2}\b",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"(?:please )?(?:remember|note|keep in mind|don't forget|bear in mind)(?: that|:|,)? ", re.IGNORECASE
)
_REMEMBER_UK = re.compile(
    r"(?:запам'ятай|май на увазі|врахуй|не забудь|зверни увагу)(?:те|йте)?,? (?:що )?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message, taken apart.

    Args:
        text: the user's words.
        language: the language to answer in.
        act: what it is for.
        statements: its sentences in the first person, without openers; empty unless it tells something.
        question: its sentences that ask; empty when nothing is asked.
    """

    text: str
    language: Language
    act: Act
    statements: Sequence[str] = ()
    question: str = ""


def understood(raw: str) -> Message:
    """Return what a message wants.

    Args:
        raw: the message as it is in the request, with a recalled block in front or without.
    """
    text = without_block(raw)[:MAX_MESSAGE_CHARS].replace("\u2019", "'").replace("\u02bc", "'").strip()
    language = language_of(text)
    sentences = [part.strip() for part in _SENTENCE_END.split(text)[:_MAX_SENTENCES] if part.strip()]
    asked = [sentence for sentence in sentences if _asks(sentence)]
    told = [bare for sentence in sentences if sentence not in asked and (bare := _told(sentence))]
    return Message(text, language, _act(text, asked, told), told, " ".join(asked))


def without_block(raw: str) -> str:
    """Return a message without the fenced block in front of it."""
    opening = _BLOCK.match(raw)
    if opening is None:
        return raw
    closing = f"</{opening[1]}>"
    end = raw.find(closing, opening.end())
    return raw if end < 0 else raw[end + len(closing) :]


def language_of(text: str) -> Language:
    """Return `uk` for a text in Cyrillic letters that Ukrainian has, and `en` for every other."""
    cyrillic = len(_CYRILLIC.findall(text))
    ukrainian = cyrillic > len(_LATIN.findall(text)) and _NOT_UKRAINIAN.search(text) is None
    return "uk" if ukrainian else "en"


def _act(text: str, asked: Sequence[str], told: Sequence[str]) -> Act:
    for act, pattern in _WHOLE:
        if pattern.fullmatch(text):
            return act
    question = " ".join(asked)
    if _SUMMARY.search(question):
        return "summary"
    if _ASSISTANT.search(question):
        return "assistant"
    if asked and not (_TASK.match(bare(question)) and not told):
        return "question"
    if told:
        return "statement"
    return "task" if _TASK.match(bare(text)) else "other"


_WHOLE: tuple[tuple[Act, re.Pattern[str]], ...] = (
    ("greeting", _GREETING),
    ("thanks", _THANKS),
    ("farewell", _FAREWELL),
)


def bare(sentence: str) -> str:
    """Return a sentence without greetings and fillers in front."""
    match = _OPENERS.match(sentence)
    return sentence[match.end() :] if match else sentence


def _asks(sentence: str) -> bool:
    words = bare(sentence)
    if sentence.rstrip("\"')”» ").endswith("?"):
        return True
    return _QUESTION_START.match(words) is not None and _REMEMBER.match(words) is None


def _told(sentence: str) -> str:
    """Return a sentence in the first person without what stands before it, or an empty text."""
    words = bare(sentence)
    words = words[len((_REMEMBER.match(words) or _REMEMBER_UK.match(words) or _NOTHING)[0]) :]
    found = _FIRST_PERSON.match(words) or _FIRST_PERSON_UK.match(words)
    return words if found else ""


_NOTHING = ("",)
