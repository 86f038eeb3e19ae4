"""The one table from PostgreSQL's SQLSTATE to the errors that leave the database layer.

It reads codes only, never a message: texts differ by version and by the server's language, and they hold values of
rows. The driver's exception stays as `__cause__`, which the log sees. What is in no row is a defect of ours: INTERNAL.
Source of the codes: PostgreSQL documentation, appendix A.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import psycopg

from mesh.kernel.errors import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    ErrorDetails,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    MeshError,
    ResourceExhausted,
    Unavailable,
)
from mesh.kernel.reasons import Reason

RETRY_AFTER = timedelta(seconds=1)
"""How long a caller is asked to wait when the database is away or full."""

RERUN_STATES = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the same transaction may succeed when it is run again from its start."""


@dataclass(frozen=True, slots=True)
class _Row:
    error: type[MeshError]
    reason: Reason
    message: str
    retry: bool = False


_AWAY = _Row(Unavailable, Reason.DATABASE_UNAVAILABLE, "The database cannot be reached at the moment.", retry=True)
_DEFECT = _Row(Internal, Reason.DB_ERROR, "The database refused an operation.")
_BAD_TEXT = _Row(
    InvalidArgument,
    Reason.TEXT_NOT_STORABLE,
    "A text holds characters that cannot be stored, such as NUL or half of a surrogate pair.",
)
_BAD_VALUE = _Row(InvalidArgument, Reason.INVALID_REQUEST, "A value is outside of what can be stored.")
_TOO_LARGE = _Row(InvalidArgument, Reason.MESSAGE_TOO_LARGE, "A value is too large to be stored.")
_CONFLICT = _Row(Aborted, Reason.CONFLICT, "A concurrent change won; try again.", retry=True)
_TIME = _Row(DeadlineExceeded, Reason.DEADLINE_EXCEEDED, "The database did not answer in time.")
_CONFIGURATION = _Row(
    FailedPrecondition, Reason.CONFIGURATION_INVALID, "The database does not accept the configured role or name."
)

_BY_STATE: dict[str, _Row] = {
    "21000": _DEFECT,
    "22021": _BAD_TEXT,
    "22P05": _BAD_TEXT,
    "23502": _DEFECT,
    "23503": _Row(FailedPrecondition, Reason.CONFLICT, "Something that this refers to, or that refers to it, differs."),
    "23505": _Row(AlreadyExists, Reason.ALREADY_EXISTS, "It exists already."),
    "23514": _Row(InvalidArgument, Reason.INVALID_REQUEST, "A value breaks a rule of what can be stored."),
    "23P01": _CONFLICT,
    "25006": _AWAY,
    "25P03": _AWAY,
    "25P04": _AWAY,
    "28000": _CONFIGURATION,
    "28P01": _CONFIGURATION,
    "3D000": _CONFIGURATION,
    "40001": _CONFLICT,
    "40P01": _CONFLICT,
    "53100": _Row(ResourceExhausted, Reason.STORAGE_FULL, "The database has no space left.", retry=True),
    "53200": _Row(ResourceExhausted, Reason.OVERLOADED, "The database is out of memory.", retry=True),
    "53300": _Row(ResourceExhausted, Reason.POOL_EXHAUSTED, "The database has no free connection.", retry=True),
    "54000": _TOO_LARGE,
    "55P03": _CONFLICT,
    "57014": _TIME,
    "57P01": _AWAY,
    "57P02": _AWAY,
    "57P03": _AWAY,
    "57P05": _AWAY,
    "58030": _AWAY,
}

_BY_CLASS: dict[str, _Row] = {"08": _AWAY, "22": _BAD_VALUE, "40": _CONFLICT}
"""What holds for every other code of a class (its first two characters)."""


def translate(exc: psycopg.Error) -> MeshError:
    """Return the error to raise for a driver's exception, with the exception as its cause."""
    error = _error_for(_row_of(exc))
    error.__cause__ = exc
    return error


@contextmanager
def translated() -> Iterator[None]:
    """Turn every exception of the driver inside the block into an error of the mesh."""
    try:
        yield
    except psycopg.Error as exc:
        raise translate(exc) from exc
    except UnicodeEncodeError as exc:
        # A str with a lone surrogate has no UTF-8 form; the driver lets the codec's own exception through.
        raise _error_for(_BAD_TEXT) from exc


def unavailable(cause: BaseException | None = None) -> Unavailable:
    """Return the error for a database that cannot be reached."""
    error = Unavailable(_AWAY.reason, _AWAY.message, ErrorDetails(retry_after=RETRY_AFTER))
    error.__cause__ = cause
    return error


def sqlstate_of(error: MeshError) -> str:
    """Return the SQLSTATE that an error of this layer came from, or an empty text."""
    cause = error.__cause__
    return (cause.sqlstate or "") if isinstance(cause, psycopg.Error) else ""


def constraint_of(error: MeshError) -> str:
    """Return the name of the constraint that an error of this layer came from, or an empty text."""
    cause = error.__cause__
    return (cause.diag.constraint_name or "") if isinstance(cause, psycopg.Error) else ""


def may_rerun(error: MeshError) -> bool:
    """Tell whether running the whole transaction again may succeed (`RERUN_STATES`)."""
    return sqlstate_of(error) in RERUN_STATES


def _row_of(exc: psycopg.Error) -> _Row:
    state = exc.sqlstate
    if state is not None:
        return _BY_STATE.get(state) or _BY_CLASS.get(state[:2], _DEFECT)
    if isinstance(exc, psycopg.DataError):
        # Raised before anything is sent: the driver refuses NUL in a text.
        return _BAD_TEXT
    if isinstance(exc, psycopg.OperationalError):
        return _AWAY
    return _DEFECT


def _error_for(row: _Row) -> MeshError:
    details = ErrorDetails(retry_after=RETRY_AFTER) if row.retry else None
    return row.error(row.reason, row.message, details)
