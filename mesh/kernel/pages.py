"""Page tokens: opaque to the caller, a keyset position inside, bound to the query that made them.

A token holds the position (the sort key of the last row returned) and a digest of everything else in the request and
of the caller. A token used with another request or by another caller is refused, as AIP-158 asks. Nothing in it is a
secret and it grants nothing: every query filters on tenant and user whatever the token says.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mesh.kernel.errors import ErrorDetails, FieldViolation, InvalidArgument, invalid_field
from mesh.kernel.reasons import Reason

T = TypeVar("T")

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 1000


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items of one page and the token of the next, empty on the last page."""

    items: Sequence[T]
    next_page_token: str = ""


def page_size(requested: int) -> int:
    """Return the size to use: 0 means the default, more than the most is cut to it (AIP-158).

    Raises:
        InvalidArgument: the size is negative.
    """
    if requested < 0:
        raise invalid_field("page_size", "must not be negative", "INT32_GTE")
    return min(requested or DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)


def encode_token(position: Sequence[str | int], *bound_to: str) -> str:
    """Return the token of a keyset position, bound to the query's other arguments."""
    raw = json.dumps([_digest(position, bound_to), *position], separators=(",", ":"))
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def decode_token(token: str, *bound_to: str) -> list[str | int]:
    """Return the position in a token.

    Raises:
        InvalidArgument: the token is malformed or was made for another query (PAGE_TOKEN_INVALID).
    """
    try:
        padded = token + "=" * (-len(token) % 4)
        parts = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):  # nested brackets exhaust the JSON reader's stack
        raise invalid_page_token() from None
    if not isinstance(parts, list) or len(parts) < 2:  # digest and key
        raise invalid_page_token()
    digest, *position = parts
    if not all(type(part) in {str, int} for part in position) or digest != _digest(position, bound_to):
        raise invalid_page_token()
    return position


def invalid_page_token() -> InvalidArgument:
    """Return the error for a token that is not one of the list that it came with (PAGE_TOKEN_INVALID)."""
    violation = FieldViolation("page_token", "is not a token of this list", "PAGE_TOKEN")
    return InvalidArgument(
        Reason.PAGE_TOKEN_INVALID,
        "page_token: is not a token of this list; start again without one",
        ErrorDetails(violations=(violation,)),
    )


def _digest(position: Sequence[str | int], bound_to: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([list(position), list(bound_to)]).encode()).hexdigest()[:16]
