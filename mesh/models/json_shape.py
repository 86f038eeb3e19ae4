"""Fits a parsed value to a JSON Schema, so that callers read fields without checking types again.

The subset: `type` (one or a list), `properties`, `required`, `items`, `enum`, `anyOf`, `minimum`, `maximum`,
`minLength`, `maxLength`. Other keywords are ignored. What is said in another type but can only mean one value is
converted (`"3"` for an integer, one object for a list of one); what cannot is a misfit. A misfit item of an array is
left out and counted, a misfit optional member is left out; anything else makes the whole value a misfit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]


class Misfit(Exception):
    """The value is not what the schema describes."""


class Fitter:
    """Fits values and counts the array items that were left out."""

    def __init__(self) -> None:
        self.lost_items = 0

    def fit(self, value: Any, schema: Schema) -> Any:
        """Return the value as the schema describes it.

        Raises:
            Misfit: it cannot be read that way.
        """
        if "anyOf" in schema:
            return self._any_of(value, schema["anyOf"])
        kinds = _kinds(schema)
        if value is None and "null" in kinds:
            return None
        fitted = self._first_fit(value, schema, [kind for kind in kinds if kind != "null"])
        return _checked(fitted, schema)

    def _any_of(self, value: Any, choices: list[Schema]) -> Any:
        for choice in choices:
            try:
                return self.fit(value, choice)
            except Misfit:
                continue
        raise Misfit

    def _first_fit(self, value: Any, schema: Schema, kinds: list[str]) -> Any:
        if not kinds:
            return storable(value)
        for kind in kinds:
            try:
                return self._fit_kind(value, schema, kind)
            except Misfit:
                continue
        raise Misfit

    def _fit_kind(self, value: Any, schema: Schema, kind: str) -> Any:
        if kind == "object":
            return self._object(value, schema)
        if kind == "array":
            return self._array(value, schema)
        return _SCALARS[kind](value)

    def _object(self, value: Any, schema: Schema) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Misfit
        properties: Mapping[str, Schema] = schema.get("properties", {})
        if not properties:
            return {str(storable(key)): storable(item) for key, item in value.items()}
        required = set(schema.get("required", ()))
        if not required <= value.keys():
            raise Misfit
        fitted: dict[str, Any] = {}
        for name, of in properties.items():
            if name in value:
                self._member(fitted, name, value[name], of, required=name in required)
        return fitted

    def _member(self, fitted: dict[str, Any], name: str, value: Any, schema: Schema, *, required: bool) -> None:
        try:
            fitted[name] = self.fit(value, schema)
        except Misfit:
            if required or _kinds(schema) == ["array"]:
                raise

    def _array(self, value: Any, schema: Schema) -> list[Any]:
        if value is None:
            raise Misfit
        items = value if isinstance(value, list) else [value]
        kept: list[Any] = []
        for item in items:
            try:
                kept.append(self.fit(item, schema.get("items", {})))
            except Misfit:
                self.lost_items += 1
        if items and not kept:
            raise Misfit
        return kept


def storable(value: Any) -> Any:
    """Return a value whose texts a database can hold: no NUL, no half of a surrogate pair."""
    if isinstance(value, str):
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole.replace("\x00", "")
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {str(storable(key)): storable(item) for key, item in value.items()}
    return value


def _kinds(schema: Schema) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _string(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Misfit
    return str(storable(value))


def _number(value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Misfit
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise Misfit from None
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN differs from itself
        raise Misfit
    return value if isinstance(value, int) else number


def _integer(value: Any) -> int:
    number = _number(value)
    if int(number) != number:
        raise Misfit
    return int(number)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise Misfit


_SCALARS: Mapping[str, Callable[[Any], Any]] = {
    "string": _string,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
}


def _checked(value: Any, schema: Schema) -> Any:
    if "enum" in schema:
        value = _one_of(value, schema["enum"])
    if isinstance(value, str):
        _within(len(value), schema.get("minLength"), schema.get("maxLength"))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _within(value, schema.get("minimum"), schema.get("maximum"))
    return value


def _one_of(value: Any, choices: list[Any]) -> Any:
    if value in choices:
        return value
    spelled = [choice for choice in choices if isinstance(choice, str) and isinstance(value, str)]
    for choice in spelled:
        if choice.lower() == value.strip().lower():
            return choice
    raise Misfit


def _within(size: float, least: float | None, most: float | None) -> None:
    if (least is not None and size < least) or (most is not None and size > most):
        raise Misfit
