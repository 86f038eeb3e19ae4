"""Errors and their reasons."""

from __future__ import annotations

from google.rpc import code_pb2

from mesh.kernel import errors
from mesh.kernel.errors import Code, MeshError, invalid_field, not_found
from mesh.kernel.reasons import Reason
from mnemesh.common.v1 import error_reason_pb2


def test_codes_are_those_of_google_rpc() -> None:
    canonical = dict(code_pb2.Code.items())
    assert {code.name: code.value for code in Code} == {k: v for k, v in canonical.items() if k != "OK"}


def test_reasons_are_those_of_the_contract() -> None:
    contract = {name.removeprefix("ERROR_REASON_") for name, _ in error_reason_pb2.ErrorReason.items()}
    assert {reason.value for reason in Reason} == contract - {"UNSPECIFIED"}


def test_every_class_has_a_code_of_its_own() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, MeshError)]
    codes = [cls.code for cls in classes if cls is not MeshError]
    assert len(codes) == len(set(codes)) >= 12


def test_message_is_the_text_of_the_error() -> None:
    error = errors.Unavailable(Reason.DATABASE_UNAVAILABLE, "the database is away")
    assert (str(error), error.message, error.reason) == ("the database is away",) * 2 + (Reason.DATABASE_UNAVAILABLE,)
    assert error.details.violations == ()


def test_invalid_field_names_the_field_twice() -> None:
    error = invalid_field("page_size", "must not be negative", "INT32_GTE")
    assert error.message == "page_size: must not be negative"
    assert error.details.violations[0].field == "page_size"


def test_not_found_names_the_resource_only_in_its_details() -> None:
    error = not_found(Reason.SESSION_NOT_FOUND, "session", "abc")
    assert "abc" not in error.message
    assert error.details.resource == errors.Resource("session", "abc")
