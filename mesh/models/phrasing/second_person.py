"""From the first person to the second: 'I moved with my dog' becomes 'you moved with your dog'.

Only what can be done word by word is done. A sentence that addresses somebody ('I like you'), quotes, or is long cannot
be turned safely and is left to be quoted.
"""

from __future__ import annotations

import re

from mesh.models.phrasing.wording import one_line

MAX_CHARS = 200
MAX_WORDS = 36

_ADDRESSES = re.compile(
    r"\b(?:you|your|yours|yourself|you're|you've|u)\b|[\"\u201c\u201d\u00ab\u00bb<>{}\[\]`]", re.IGNORECASE
)
_WORD = re.compile(
    r"\b(?P<be>i|we)(?P<verb> am| was| are| were| have been|'m| wasn't)\b|"
    r"\b(?P<word>i'm|i've|i'll|i'd|we're|we've|we'll|we'd|im|ive|i|we|me|us|my|our|ours|myself|ourselves)\b(?!')",
    re.IGNORECASE,
)
_SECOND = {
    "i": "you", "we": "you", "me": "you", "us": "you", "my": "your", "our": "your", "ours": "yours",
    "myself": "yourself", "ourselves": "yourselves", "i'm": "you're", "im": "you're", "we're": "you're",
    "i've": "you've",
    "ive": "you've", "we've": "you've", "i'll": "you'll", "we'll": "you'll", "i'd": "you'd", "we'd": "you'd",
}  # fmt: skip
_BE = {
    "am": "are", "was": "were", "are": "are", "were": "were", "have been": "have been", "'m": "'re",
    "wasn't": "weren't",
}  # fmt: skip
_JOINED_WAS = re.compile(r"\b(you(?: \w+ly)? |you,? and )was\b")
_NOT_A_PRONOUN = re.compile(
    r"\b(?:i\.e|mine|(?:War|Part|Act|Type|Volume|Level|Chapter|Phase|Elizabeth|Charles) I\b)", re.IGNORECASE
)
_STARTS = re.compile(r"(?:i|we|my|our|im|ive)\b", re.IGNORECASE)


def second_person(sentence: str) -> str:
    """Return a first-person sentence in the second person, without its closing mark and capital.

    Returns:
        An empty text when the sentence is not one of the speaker's own, is longer than `MAX_CHARS`, or cannot be
        turned.
    """
    line = one_line(sentence).replace("\u2019", "'").rstrip(" .!,;:…")
    if len(line) > MAX_CHARS or line.count(" ") >= MAX_WORDS or _STARTS.match(line) is None:
        return ""
    if _ADDRESSES.search(line) or _NOT_A_PRONOUN.search(line) or "?" in line:
        return ""
    turned = _WORD.sub(_turned, line)
    return _JOINED_WAS.sub(r"\1were", turned)


def _turned(match: re.Match[str]) -> str:
    if match["be"]:
        verb = match["verb"].strip().lower()
        joint = "" if verb.startswith("'") else " "
        return f"you{joint}{_BE[verb]}"
    return match[0] if match[0] == "US" else _SECOND[match["word"].lower()]
