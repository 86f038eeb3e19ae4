"""Every SQLSTATE becomes the error, the reason and the retry advice that callers are promised."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg_errors

from mesh.db.errors import constraint_of, may_rerun, sqlstate_of, translate, translated, unavailable
from mesh.kernel.errors import Code, InvalidArgument, MeshError, Unavailable
from mesh.kernel.reasons import Reason

BY_STATE = [
    ("22001", Code.INVALID_ARGUMENT, Reason.INVALID_REQUEST, False),
    ("22003", Code.INVALID_ARGUMENT, Reason.INVALID_REQUEST, False),
    ("22021", Code.INVALID_ARGUMENT, Reason.TEXT_NOT_STORABLE, False),
    ("22P02", Code.INVALID_ARGUMENT, Reason.INVALID_REQUEST, False),
    ("22P05", Code.INVALID_ARGUMENT, Reason.TEXT_NOT_STORABLE, False),
    ("23502", Code.INTERNAL, Reason.DB_ERROR, False),
    ("23503", Code.FAILED_PRECONDITION, Reason.CONFLICT, False),
    ("23505", Code.ALREADY_EXISTS, Reason.ALREADY_EXISTS, False),
    ("23514", Code.INVALID_ARGUMENT, Reason.INVALID_REQUEST, False),
    ("25006", Code.UNAVAILABLE, Reason.DATABASE_UNAVAILABLE, True),
    ("25P03", Code.UNAVAILABLE, Reason.DATABASE_UNAVAILABLE, True),
    ("28P01", Code.FAILED_PRECONDITION, Reason.CONFIGURATION_INVALID, False),
    ("40001", Code.ABORTED, Reason.CONFLICT, True),
    ("40P01", Code.ABORTED, Reason.CONFLICT, True),
    ("42501", Code.INTERNAL, Reason.DB_ERROR, False),
    ("42P01", Code.INTERNAL, Reason.DB_ERROR, False),
    ("53100", Code.RESOURCE_EXHAUSTED, Reason.STORAGE_FULL, True),
    ("53200", Code.RESOURCE_EXHAUSTED, Reason.OVERLOADED, True),
    ("53300", Code.RESOURCE_EXHAUSTED, Reason.POOL_EXHAUSTED, True),
    ("54000", Code.INVALID_ARGUMENT, Reason.MESSAGE_TOO_LARGE, False),
    ("55P03", Code.ABORTED, Reason.CONFLICT, True),
    ("57014", Code.DEADLINE_EXCEEDED, Reason.DEADLINE_EXCEEDED, False),
    ("57P01", Code.UNAVAILABLE, Reason.DATABASE_UNAVAILABLE, True),
    ("57P02", Code.UNAVAILABLE, Reason.DATABASE_UNAVAILABLE, True),
    ("57P03", Code.UNAVAILABLE, Reason.DATABASE_UNAVAILABLE, True),
    ("XX000", Code.INTERNAL, Reason.DB_ERROR, False),
]


@pytest.mark.parametrize(("state", "code", "reason", "retry"), BY_STATE)
def test_sqlstate_becomes_its_error(state: str, code: Code, reason: Reason, retry: bool) -> None:
    cause = pg_errors.lookup(state)("a text that names a row")
    error = translate(cause)
    assert (error.code, error.reason, error.details.retry_after is not None) == (code, reason, retry)
    assert error.__cause__ is cause
    assert sqlstate_of(error) == state


def test_driver_text_never_reaches_the_message() -> None:
    error = translate(pg_errors.UniqueViolation("Key (email)=(eve@example.org) already exists"))
    assert "eve" not in error.message
    assert "eve" not in repr(error.details)


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (psycopg.OperationalError("connection refused"), Reason.DATABASE_UNAVAILABLE),
        (psycopg.DataError("cannot contain NUL"), Reason.TEXT_NOT_STORABLE),
        (psycopg.InterfaceError("unknown"), Reason.DB_ERROR),
        (psycopg.ProgrammingError("unknown"), Reason.DB_ERROR),
    ],
)
def test_error_of_the_client_side_is_told_by_its_class(cause: psycopg.Error, reason: Reason) -> None:
    assert translate(cause).reason == reason


def test_half_of_a_surrogate_pair_is_a_bad_text() -> None:
    with pytest.raises(InvalidArgument) as caught, translated():
        "\ud800".encode()
    assert caught.value.reason == Reason.TEXT_NOT_STORABLE


def test_only_lost_races_may_be_run_again() -> None:
    states = {state for state, *_ in BY_STATE if may_rerun(translate(pg_errors.lookup(state)("")))}
    assert states == {"40001", "40P01"}


def test_error_of_another_layer_has_no_sqlstate_and_no_constraint() -> None:
    error = MeshError(Reason.INTERNAL, "other")
    assert (sqlstate_of(error), constraint_of(error)) == ("", "")


def test_unavailable_keeps_its_cause_and_asks_to_retry() -> None:
    cause = OSError("no route")
    error = unavailable(cause)
    assert isinstance(error, Unavailable)
    assert error.__cause__ is cause
    assert error.details.retry_after is not None
