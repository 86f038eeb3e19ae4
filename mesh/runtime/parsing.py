"""One text from the environment, read as the type of the field that it sets.

A parser raises ValueError with the end of a sentence ("must be a whole number"); the caller puts the variable's name in
front of it. The given text is never repeated, since it may be a secret that went into the wrong variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

Parser: TypeAlias = Callable[[str], Any]

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def parser_for(kind: Any) -> Parser:
    """Return the parser of a field's type.

    Args:
        kind: `str`, `int`, `float`, `bool`, `Path`, `timedelta` (from seconds), `tuple[str, ...]` (comma-separated), a
            `Literal` of texts, or one of these `| None`.

    Raises:
        TypeError: settings cannot have that type; give the field a `parse`.
    """
    if get_origin(kind) is Literal:
        return _literal(get_args(kind))
    if get_origin(kind) in {Union, UnionType}:
        return _optional(kind)
    if get_origin(kind) is tuple and get_args(kind) == (str, ...):
        return _texts
    try:
        return _PARSERS[kind]
    except (KeyError, TypeError):
        raise TypeError(f"no parser for settings of type {kind!r}") from None


def type_name(kind: Any) -> str:
    """Return how the reference describes a type, such as `whole number` or `one of none, api_key`."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(str(value) for value in get_args(kind))
    if get_origin(kind) in {Union, UnionType}:
        return type_name(_without_none(kind))
    if get_origin(kind) is tuple:
        return "comma-separated texts"
    return _TYPE_NAMES.get(kind, getattr(kind, "__name__", str(kind)))


def _optional(kind: Any) -> Parser:
    return parser_for(_without_none(kind))


def _without_none(kind: Any) -> Any:
    rest = [part for part in get_args(kind) if part is not NoneType]
    if len(rest) != 1:
        raise TypeError(f"no parser for settings of type {kind!r}")
    return rest[0]


def _literal(values: tuple[Any, ...]) -> Parser:
    def parse(text: str) -> Any:
        if text not in values:
            raise ValueError("must be one of: " + ", ".join(values))
        return text

    return parse


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("must be a whole number") from None


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("must be a number") from None
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def _seconds(text: str) -> timedelta:
    try:
        return timedelta(seconds=_number(text))
    except (ValueError, OverflowError):
        raise ValueError("must be a number of seconds") from None


def _truth(text: str) -> bool:
    lowered = text.lower()
    if lowered not in _TRUE | _FALSE:
        raise ValueError("must be true or false")
    return lowered in _TRUE


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _texts(text: str) -> tuple[str, ...]:
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


_PARSERS: Mapping[Any, Parser] = {
    str: str,
    int: _whole,
    float: _number,
    bool: _truth,
    Path: _path,
    timedelta: _seconds,
}

_TYPE_NAMES: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
    timedelta: "seconds",
}
