"""Settings: frozen dataclasses whose fields name the environment variables that set them.

A field is set from the environment when its metadata has `env`; the other keys are `doc`, `secret` and `parse`. Plain
`dataclasses.field(metadata={...})` is enough, so that a package declares its settings without importing this module.
A field whose type is a dataclass is loaded in turn. Everything that is wrong is reported at once, each problem in one
sentence that names the variable and says what to do; a value is never repeated, since it may be a secret.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar, get_type_hints

from mesh.kernel.errors import ErrorDetails, FailedPrecondition, FieldViolation
from mesh.kernel.reasons import Reason
from mesh.runtime.parsing import parser_for, type_name

T = TypeVar("T")

PREFIX = "MNEMESH_"
"""Names with this prefix are ours, so one that nothing declares is a mistake."""


class Secret(str):
    """A text that shows itself as `***` in `repr`, and so in the `repr` of every dataclass that holds it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of the settings reference.

    Args:
        names: the variables in the order in which they are looked up; the first is the one to use.
        kind: the type in words.
        default: the default as text, empty when the setting is required; never a secret.
        doc: what it does, one sentence.
        required: True when there is no default.
        secret: True when the value must not be shown.
    """

    names: tuple[str, ...]
    kind: str
    default: str
    doc: str
    required: bool
    secret: bool


def setting(
    env: str | tuple[str, ...],
    doc: str,
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | Any = MISSING,
    secret: bool = False,
    parse: Callable[[str], Any] | None = None,
) -> Any:
    """Return a dataclass field that the environment sets.

    Args:
        env: the variable, or alternatives of which the first that is set wins.
        doc: what it does, one sentence for the reference.
        default: value without the variable; without a default the setting is required.
        default_factory: makes the default, for mutable ones.
        secret: hides the value in `repr` and in the reference.
        parse: reads the text instead of the type's own parser; raises ValueError("must be ...").
    """
    metadata = {"env": env, "doc": doc, "secret": secret, "parse": parse}
    return dataclasses.field(default=default, default_factory=default_factory, metadata=metadata)


def load(cls: type[T], environ: Mapping[str, str], *, known: Iterable[str] | None = None) -> T:
    """Return settings read from an environment. An empty variable counts as not set.

    Args:
        cls: a dataclass; nested dataclasses are loaded from the same environment.
        environ: usually `os.environ`.
        known: names and patterns (`MNEMESH_MEMORY_*`) that are legal besides those of `cls`; when given, any other name
            that starts with `MNEMESH_` is an error. None checks no names.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, with every problem in the message and as a violation.
    """
    problems: list[FieldViolation] = []
    value = _build(cls, environ, problems)
    if known is not None:
        problems.extend(_unknown(environ, names(cls), tuple(known)))
    if problems:
        raise _invalid(problems)
    return value  # type: ignore[no-any-return]


def names(*classes: type[Any]) -> frozenset[str]:
    """Return every variable that some settings dataclasses read."""
    return frozenset(name for cls in classes for row in describe(cls) for name in row.names)


def describe(cls: type[Any]) -> list[SettingRow]:
    """Return the reference rows of a settings dataclass, in the order of its fields, nested ones in place."""
    rows: list[SettingRow] = []
    for field, kind in _fields(cls):
        if field.metadata.get("env"):
            rows.append(_row(field, kind))
        elif _is_nested(kind):
            rows.extend(describe(kind))
    return rows


def _build(cls: type[Any], environ: Mapping[str, str], problems: list[FieldViolation]) -> Any:
    before = len(problems)
    values: dict[str, Any] = {}
    for field, kind in _fields(cls):
        if field.metadata.get("env"):
            _read(field, kind, environ, values, problems)
        elif _is_nested(kind) and describe(kind):
            values[field.name] = _build(kind, environ, problems)
    if len(problems) > before:
        return None
    try:
        return cls(**values)
    except ValueError as error:
        # The variable that the class is about comes first; its message names the others that it speaks of.
        where = next((row.names[0] for row in describe(cls)), cls.__name__)
        problems.append(FieldViolation(where, str(error)))
        return None


def _read(
    field: dataclasses.Field[Any],
    kind: Any,
    environ: Mapping[str, str],
    values: dict[str, Any],
    problems: list[FieldViolation],
) -> None:
    found = next((name for name in _env_names(field) if environ.get(name)), None)
    if found is None:
        if _is_required(field):
            problems.append(FieldViolation(_env_names(field)[0], f"must be set: {_doc(field)}"))
        return
    parse = field.metadata.get("parse") or parser_for(kind)
    try:
        value = parse(environ[found])
    except ValueError as error:
        problems.append(FieldViolation(found, str(error)))
        return
    values[field.name] = _hidden(value) if field.metadata.get("secret") else value


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return Secret(value)
    if isinstance(value, tuple):
        return tuple(_hidden(part) for part in value)
    return value


def _unknown(environ: Mapping[str, str], own: frozenset[str], known: tuple[str, ...]) -> Iterator[FieldViolation]:
    legal = sorted(own.union(known))
    for name in sorted(environ):
        if not name.startswith(PREFIX) or any(fnmatchcase(name, pattern) for pattern in legal):
            continue
        close = difflib.get_close_matches(name, legal, n=1, cutoff=0.75)
        advice = f"did you mean {close[0]}?" if close else "remove it, or see docs/settings.md for the names"
        yield FieldViolation(name, f"is not a setting; {advice}")


def _invalid(problems: list[FieldViolation]) -> FailedPrecondition:
    sentences = [f"{problem.field} {problem.description.rstrip('.')}" for problem in problems]
    return FailedPrecondition(
        Reason.CONFIGURATION_INVALID,
        "; ".join(sentences) + ".",
        ErrorDetails(violations=tuple(problems)),
    )


def _row(field: dataclasses.Field[Any], kind: Any) -> SettingRow:
    secret = bool(field.metadata.get("secret"))
    return SettingRow(
        names=_env_names(field),
        kind=field.metadata.get("kind") or type_name(kind),
        default="" if secret else _default_text(field),
        doc=_doc(field),
        required=_is_required(field),
        secret=secret,
    )


def _default_text(field: dataclasses.Field[Any]) -> str:
    if field.default is not MISSING:
        value = field.default
    elif field.default_factory is not MISSING:
        value = field.default_factory()
    else:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return "" if value is None else str(getattr(value, "total_seconds", lambda: value)())


def _fields(cls: type[Any]) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    kinds = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if field.init:
            yield field, kinds[field.name]


def _env_names(field: dataclasses.Field[Any]) -> tuple[str, ...]:
    env = field.metadata["env"]
    return (env,) if isinstance(env, str) else tuple(env)


def _doc(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata.get("doc", ""))


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _is_nested(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)
