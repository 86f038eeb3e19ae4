"""Path templates of `google.api.http`, compiled to regular expressions over the raw (still percent-encoded) path.

Source: google/api/http.proto, 'Path template syntax'. A variable is decoded after the match, so that `%2F` and `%3A` in
an id are neither a separator nor the start of a custom verb.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from mesh.kernel.errors import invalid_field

_TOKEN = re.compile(r"\{(?P<variable>[a-z0-9_.]+)(?:=(?P<pattern>[^}]+))?\}|(?P<segment>[^/{}]+)|(?P<slash>/)")
_ANY = "[^/]+"
_DEEP = ".+"


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """A compiled template.

    Args:
        text: as it stands in the contract.
        verb: the custom verb after the last colon, or empty.
        variables: field paths such as `session.id`, in the order in which they stand.
        regex: matches a whole raw path; its groups are the variables.
        weight: sorts literal segments before variables, place by place.
    """

    text: str
    verb: str
    variables: tuple[str, ...]
    regex: re.Pattern[str]
    weight: tuple[int, ...]

    def match(self, raw_path: str) -> tuple[str, ...] | None:
        """Return the raw values of the variables, or None when the path is another one."""
        found = self.regex.fullmatch(raw_path)
        return None if found is None else found.groups()

    def decode(self, values: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield each field path with its value, percent-decoded.

        Raises:
            InvalidArgument: a value is not UTF-8 once it is decoded.
        """
        for name, value in zip(self.variables, values, strict=True):
            try:
                yield name, unquote(value, errors="strict")
            except UnicodeDecodeError:
                raise invalid_field(name, "must be UTF-8", "STRING_UTF8") from None


def compile_template(text: str) -> PathTemplate:
    """Return a compiled template.

    Raises:
        ValueError: the text is no template.
    """
    path, verb = _split_verb(text)
    if not path.startswith("/"):
        raise ValueError(f"{text!r} does not start with a slash")
    pieces = list(_pieces(path, text))
    pattern = "".join(piece.pattern for piece in pieces) + (re.escape(":" + verb) if verb else "")
    return PathTemplate(
        text=text,
        verb=verb,
        variables=tuple(piece.variable for piece in pieces if piece.variable),
        regex=re.compile(pattern, re.DOTALL),
        weight=tuple(piece.weight for piece in pieces if piece.pattern != "/"),
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    pattern: str
    weight: int
    variable: str = ""


def _split_verb(text: str) -> tuple[str, str]:
    head, colon, verb = text.rpartition(":")
    return (head, verb) if colon and not {"/", "}"} & set(verb) else (text, "")


def _pieces(path: str, text: str) -> Iterator[_Piece]:
    at = 0
    while at < len(path):
        token = _TOKEN.match(path, at)
        if token is None:
            raise ValueError(f"{text!r} is no path template at character {at}")
        at = token.end()
        if token["slash"]:
            yield _Piece("/", 0)
        elif token["variable"]:
            yield _Piece(f"({_segments(token['pattern'] or '*')})", 1, token["variable"])
        else:
            yield _Piece(_segments(token["segment"]), 1 if "*" in token["segment"] else 0)


def _segments(pattern: str) -> str:
    wild = {"*": _ANY, "**": _DEEP}
    return "/".join(wild.get(segment) or re.escape(segment) for segment in pattern.split("/"))
