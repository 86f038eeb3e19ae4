"""Positions in lists that run from new to old: the time of the last row returned, and its id where times are equal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from mesh.kernel.ids import is_uuid
from mesh.kernel.pages import decode_token, encode_token, invalid_page_token


@dataclass(frozen=True, slots=True)
class Position:
    """Rows of the next page come strictly after this one in the order time descending, id descending."""

    at: datetime
    id: str


START = Position(datetime(9999, 12, 31, tzinfo=UTC), "ffffffff-ffff-ffff-ffff-ffffffffffff")
"""Before every row."""


def to_token(position: Position, *bound_to: str) -> str:
    """Return the page token of a position, bound to the arguments of its query."""
    return encode_token((position.at.astimezone(UTC).isoformat(), position.id), *bound_to)


def from_token(token: str, *bound_to: str) -> Position:
    """Return the position that a token holds; an empty token is the start.

    Raises:
        InvalidArgument: it is not a token of this query (PAGE_TOKEN_INVALID).
    """
    if not token:
        return START
    match decode_token(token, *bound_to):
        case [str(at), str(row_id)] if is_uuid(row_id):
            return Position(_instant(at), row_id)
    raise invalid_page_token()


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise invalid_page_token() from None
    if at.tzinfo is None:
        raise invalid_page_token()
    return at
