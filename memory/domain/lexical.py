"""Words into lexemes: the one place that decides what 'the same word' is.

Stored text and queries pass through the same functions, and what comes out is stored as a ready `tsvector`. So no text
search configuration of the server takes part, an upgrade of PostgreSQL changes nothing, and every database finds the
same (G10).

What becomes of a word depends on the word alone, never on a guess about the language of the text around it: a guess
that differs between a long message and a short question would make an exact word unfindable. The script picks the
rule:

- Latin: diacritics folded, then the Snowball stemmer for English; a word with an umlaut or `ß` goes to the German one.
- Cyrillic: a light stemmer for words with Ukrainian letters, Snowball's Russian for the others, and a last step that
  brings the endings of both together.
- Arabic, Greek, Devanagari, Armenian, Tamil: the Snowball stemmer of their language.
- Han, kana, Hangul, Thai, Lao, Khmer, Burmese, which do not (or not reliably) put spaces between words: pairs of
  characters; single characters are stored as well, so that a word of one character can be asked for.

Source: Snowball, https://snowballstem.org; pairs of characters for CJK: Nie, Gao, Zhang, Zhou, 'On the use of words
and n-grams for Chinese information retrieval', IRAL 2000.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from memory.domain.stopwords import ARTICLES, NEGATIONS, STOP_WORDS

MAX_WORD_CHARS = 64
"""Longer 'words' (links, encoded bytes) are cut: PostgreSQL refuses lexemes over 2,046 bytes."""

MAX_LEXEMES = 8_000
"""Most different lexemes of one text; more than any message within its limits needs."""

MAX_QUERY_TERMS = 24
"""Most terms of a query that are scored; of more, the longest are taken: long words are rarer (Zipf)."""

_MARK_BLOCKS = (range(0x0300, 0x1FFF), range(0xA000, 0xAC00), range(0xFE20, 0xFE30))
_MARKS = "".join(
    chr(code) for block in _MARK_BLOCKS for code in block if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
r"""Combining marks, which are part of words in many scripts and which `\w` does not cover."""

_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}]|'(?=[^\W_]))*")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u02bc\u02b9\u2018\uff07`\u00b4", "'"))
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Thai, Lao, Burmese, Khmer, Hangul, kana and Han."""

_UKRAINIAN_LETTERS = frozenset("іїєґ'")
_UKRAINIAN_FOLD = str.maketrans({"ґ": "г", "є": "е", "ї": "и", "і": "и", "'": None})
_UKRAINIAN_CASE = (("ів", "ов"), ("їв", "єв"))
_UKRAINIAN_ENDINGS = tuple(
    sorted(
        # Nouns and adjectives, then verbs; in letters before folding.
        [
            "ами",
            "ями",
            "ові",
            "еві",
            "єві",
            "ах",
            "ях",
            "ам",
            "ям",
            "ою",
            "ею",
            "єю",
            "ої",
            "ій",
            "ії",
            "ії",
            "ія",
            "ію",
            "ією",
            "ого",
            "ому",
            "ими",
            "их",
            "ий",
            "а",
            "я",
            "у",
            "ю",
            "и",
            "і",
            "ї",
            "е",
            "є",
            "о",
            "й",
            "ь",
            "ється",
            "ються",
            "ється",
            "ти",
            "ла",
            "ло",
            "ли",
            "в",
            "ає",
            "яє",
            "ує",
            "ює",
            "ють",
            "ать",
            "ять",
            "имо",
            "емо",
            "ємо",
            "ите",
            "ете",
            "єте",
            "ся",
            "сь",
            "єш",
            "еш",
            "иш",
            "ить",
        ],
        key=len,
        reverse=True,
    )
)
_CYRILLIC_LAST = ("ов", "ев", "а", "е", "и", "о", "у", "ю", "я")
_MIN_STEM = 3

_SNOWBALL_BY_SCRIPT = {
    "LATIN": "english",
    "CYRILLIC": "russian",
    "ARABIC": "arabic",
    "GREEK": "greek",
    "DEVANAGARI": "hindi",
    "ARMENIAN": "armenian",
    "TAMIL": "tamil",
}
_STEMMERS = {name: Stemmer.Stemmer(name) for name in {*_SNOWBALL_BY_SCRIPT.values(), "german"}}
_GERMAN_LETTERS = frozenset("äöüß")


@dataclass(frozen=True, slots=True)
class Lexemes:
    """What is stored of a text for the lexical arm.

    Args:
        distinct: different lexemes, in order of appearance.
        length: words that are not stop words, repeats counted; the length in the BM25 sense.
        speakers: marks of who said it (`speaker_mark`).
    """

    distinct: tuple[str, ...]
    length: int
    speakers: tuple[str, ...] = ()

    def tsvector(self) -> str:
        """Return the literal of PostgreSQL's `tsvector`; positions are left out, presence is all that is scored."""
        return " ".join(f"'{lexeme}'" for lexeme in (*self.distinct, *self.speakers))


def speaker_mark(term: str) -> str:
    """Return the lexeme of rows that were said by somebody with this term in the name. No word has a colon."""
    return f"speaker:{term}"


def lexemes(text: str, speaker: str = "") -> Lexemes:
    """Return the lexemes to store for a text and for the name of who said it, which may be empty."""
    distinct: dict[str, None] = {}
    length = 0
    for word in _words(text):
        if _UNSPACED.match(word):
            pairs = _pairs(word)
            length += len(pairs)
            distinct.update(dict.fromkeys((*word, *pairs)))
        else:
            length += 1
            distinct[stem(word)] = None
    return Lexemes(tuple(distinct)[:MAX_LEXEMES], length, tuple(speaker_mark(term) for term in query_terms(speaker)))


def query_terms(text: str, limit: int = MAX_QUERY_TERMS) -> list[str]:
    """Return the different lexemes to search a text by, in order of appearance; none when it has only stop words.

    Args:
        text: the query.
        limit: most terms; of more, the longest are kept.
    """
    distinct: dict[str, None] = {}
    for word in _words(text):
        distinct.update(dict.fromkeys(_pairs(word) if _UNSPACED.match(word) else (stem(word),)))
    if len(distinct) <= limit:
        return list(distinct)
    kept = set(sorted(distinct, key=len, reverse=True)[:limit])
    return [term for term in distinct if term in kept]


def same_words(one: str, other: str) -> bool:
    """Tell whether two texts say the same in the same words: equal lexemes, negations included, articles aside."""
    return _bag(one) == _bag(other)


def same_figures(one: str, other: str) -> bool:
    """Tell whether two texts agree in what a vector barely sees: numbers, negations and names (capitalised words)."""
    if _figures(one) != _figures(other):
        return False
    return _names(one) <= _bag(other) and _names(other) <= _bag(one)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the lexeme of one normalised word.

    Args:
        word: casefolded NFKC, apostrophes as `'`.
    """
    script = _script(word)
    if script == "LATIN":
        return _latin(word)
    if script == "CYRILLIC":
        return _cyrillic(word)
    plain = word.replace("'", "")
    language = _SNOWBALL_BY_SCRIPT.get(script)
    return (_snowball(language, plain) if language else plain) or plain


def _words(text: str) -> Iterator[str]:
    """Yield the normalised words of a text that are not stop words, runs of unspaced scripts apart."""
    return (word for word in _all_words(text) if word not in STOP_WORDS)


def _all_words(text: str) -> Iterator[str]:
    normal = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    for match in _WORD.finditer(normal):
        for piece in _pieces(match.group()):
            yield piece[:MAX_WORD_CHARS]


def _bag(text: str) -> frozenset[str]:
    stems = frozenset(stem(word) for word in _all_words(text) if word not in ARTICLES)
    # A text without a word, such as one of emoji, is its characters.
    return stems or frozenset((text.strip(),))


def _names(text: str) -> frozenset[str]:
    return frozenset(stem(word) for part in text.split() if part[0].isupper() for word in _all_words(part))


def _figures(text: str) -> tuple[frozenset[str], bool]:
    words = frozenset(_all_words(text))
    numbers = frozenset(word for word in words if any(char.isdigit() for char in word))
    return numbers, not NEGATIONS.isdisjoint(words) or any(word.endswith("n't") for word in words)


def _pieces(word: str) -> Iterable[str]:
    if word.isascii():
        return (word,)
    found, end = [], 0
    for run in _UNSPACED.finditer(word):
        found += [word[end : run.start()], run.group()]
        end = run.end()
    return [piece for piece in (*found, word[end:]) if piece]


def _pairs(run: str) -> tuple[str, ...]:
    if len(run) == 1:
        return (run,)
    return tuple(run[i : i + 2] for i in range(len(run) - 1))


def _script(word: str) -> str:
    if word.isascii():
        return "LATIN" if not word[0].isdigit() else "DIGIT"
    return next((unicodedata.name(char, "").split(" ")[0] for char in word if char.isalpha()), "DIGIT")


def _snowball(language: str, word: str) -> str:
    stemmed: str = _STEMMERS[language].stemWord(word)
    return stemmed


def _latin(word: str) -> str:
    if not _GERMAN_LETTERS.isdisjoint(word):
        return _snowball("german", word.replace("'", ""))
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return _snowball("english", word).replace("'", "") or word.replace("'", "")


def _cyrillic(word: str) -> str:
    root = _snowball("russian", word.replace("ё", "е")) if _UKRAINIAN_LETTERS.isdisjoint(word) else ""
    if len(root) < _MIN_STEM:
        root = _ukrainian(word)
    root = root.translate(_UKRAINIAN_FOLD)
    for ending in _CYRILLIC_LAST:
        if root.endswith(ending) and len(root) - len(ending) >= _MIN_STEM:
            return root.removesuffix(ending)
    return root


def _ukrainian(word: str) -> str:
    """Strip the longest ending, after undoing the change of vowel in `Львів, Львова` and `Київ, Києва`."""
    for closed, open_ in _UKRAINIAN_CASE:
        if word.endswith(closed):
            return word.removesuffix(closed) + open_
    for ending in _UKRAINIAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word.removesuffix(ending)
    return word
