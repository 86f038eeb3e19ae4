"""What of a text is the speaker's own plain words: everything else is blanked out, position for position.

Blanked: fenced and inline code, quoted lines, lines of a transcript ('User: …'), blocks between tags (recalled text
comes that way, and it must never be
learned again, G5), and quotations that may hold somebody else's words. Positions stay, so an excerpt can be cut from
the original. Every scan here is a single pass.
"""

from __future__ import annotations

import re

MAX_CHARS = 20_000
"""Longer texts are cut: nobody states facts about themselves in character 20,001 of a message."""

BLANK = "\ufffc"
"""Stands for a blanked character inside a sentence; no rule's pattern matches it."""

_MAX_TITLE_CHARS = 60

_SAME_LENGTH = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u0060": "'", "\u00b4": "'", "\u2032": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u2033": '"',
        "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\t": " ", "\0": " ", "\r": "\n", "\u2028": "\n", "\u2029": "\n",
        "\u2012": "\u2013", "\u2014": "\u2013", "\u2015": "\u2013",
    }
)  # fmt: skip

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_QUOTED_LINE = re.compile(r"^[ \t]*[>|].*$", re.MULTILINE)
_TRANSCRIPT_LINE = re.compile(
    r"^[ \t]*\W{0,3}(?:user|human|assistant|ai|bot|system|customer|client|agent|interviewer|interviewee|q|a|speaker "
    r"\w{1,10})\W{0,3}:.*$",
    re.MULTILINE | re.IGNORECASE,
)
_LABELLED_LINE = re.compile(r"^[ \t]*[A-ZА-ЯҐЄІЇ][\w'-]{0,30}(?: [A-ZА-ЯҐЄІЇ][\w'-]{0,30})?: .*$", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,40})(?:\s[^<>\n]{0,200})?>")
_QUOTATION = re.compile(r'"[^"\n]{1,2000}"')
_PERSONAL = re.compile(
    r"\b(?:i|i'm|im|my|me|we|our|you|your|he|she|they|is|are|was|я|мене|мені|мій|моя|моє|мої|ми|ти|він|вона|є)\b",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Return the text, cut to `MAX_CHARS`, with one spelling of quotes and dashes and with foreign words blanked.

    The result has the same length as the cut text, character for character.
    """
    cut = text[:MAX_CHARS]
    kept = _without_fences(cut)
    kept = _CODE.sub(_lines, kept)
    kept = _QUOTED_LINE.sub(_lines, kept)
    kept = _TRANSCRIPT_LINE.sub(_lines, kept)
    if len(_LABELLED_LINE.findall(kept)) > 1:
        kept = _LABELLED_LINE.sub(_lines, kept)
    kept = _without_tags(kept)
    return _QUOTATION.sub(_quotation, kept.translate(_SAME_LENGTH))


def _without_fences(text: str) -> str:
    """Blank what stands between fences; an unclosed fence runs to the end."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    parts, position = [], 0
    for index in range(0, len(fences), 2):
        start = fences[index]
        end = _line_end(text, fences[index + 1]) if index + 1 < len(fences) else len(text)
        parts += [text[position:start], _newlines(end - start)]
        position = end
    return "".join([*parts, text[position:]])


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _without_tags(text: str) -> str:
    """Blank blocks from an opening tag to the last closing tag of the same name, and stray tags."""
    tags = list(_TAG.finditer(text))
    last_close = {tag[2].lower(): tag.end() for tag in tags if tag[1]}
    parts, position = [], 0
    for tag in tags:
        if tag.start() < position:
            continue
        end = tag.end() if tag[1] else max(tag.end(), last_close.get(tag[2].lower(), 0))
        parts += [text[position : tag.start()], _newlines(end - tag.start())]
        position = end
    return "".join([*parts, text[position:]])


def _newlines(length: int) -> str:
    return "\n" * length


def _lines(match: re.Match[str]) -> str:
    return _newlines(len(match[0]))


def _quotation(match: re.Match[str]) -> str:
    """Keep a short title in quotes; blank what reads like somebody's words."""
    words = match[0]
    if len(words) <= _MAX_TITLE_CHARS and not _PERSONAL.search(words):
        return words
    return BLANK * len(words)
