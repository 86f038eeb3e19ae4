"""Bodies of requests as JSON values. What cannot be read is refused with the place, never with the text itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from mesh.kernel.errors import ErrorDetails, FieldViolation, InvalidArgument
from mesh.kernel.reasons import Reason

_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(body: bytes) -> dict[str, Any]:
    """Return the object that a request body holds; an empty body is an empty object.

    Raises:
        InvalidArgument: it is not JSON in UTF-8 or not an object (MALFORMED_MESSAGE), or a text in it holds half of a
            surrogate pair (TEXT_NOT_STORABLE, with the field).
    """
    if not body:
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _why_not(body) from None
    if not isinstance(value, dict):
        raise malformed("the body must be a JSON object")
    return value


def malformed(message: str) -> InvalidArgument:
    """Return the error for bytes that are no request of the method."""
    return InvalidArgument(Reason.MALFORMED_MESSAGE, message)


def _why_not(body: bytes) -> InvalidArgument:
    try:
        value = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError:
        return malformed("the body is not UTF-8")
    except json.JSONDecodeError as error:
        return malformed(f"the body is not JSON: see line {error.lineno}, column {error.colno}")
    except (ValueError, RecursionError):
        return malformed("the body is not JSON")
    where = next(_broken_texts(value, ""), None)
    if where is None:
        return malformed("the body is not JSON")
    violation = FieldViolation(where, "holds half of a surrogate pair", "STRING_SURROGATE")
    return InvalidArgument(
        Reason.TEXT_NOT_STORABLE,
        f"{where}: holds half of a surrogate pair, which is no character",
        ErrorDetails(violations=(violation,)),
    )


def _broken_texts(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            yield path
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _broken_texts(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            here = _SURROGATE.sub("\ufffd", f"{path}.{name}" if path else name)
            if _SURROGATE.search(name):
                yield here
            yield from _broken_texts(item, here)
