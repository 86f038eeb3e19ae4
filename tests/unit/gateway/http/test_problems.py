"""Errors as problem documents."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from gateway.http import problems
from gateway.http.transcode import MethodNotAllowed
from mesh.kernel import errors
from mesh.kernel.errors import Code, ErrorDetails, FieldViolation, InvalidArgument, Resource, invalid_field
from mesh.kernel.reasons import Reason


def test_every_code_has_a_status_and_every_status_a_title() -> None:
    assert set(problems.STATUS_OF_CODE) == set(Code)
    statuses = {*problems.STATUS_OF_CODE.values(), *problems.STATUS_OF_REASON.values()}
    assert statuses <= set(problems.TITLES)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidArgument(Reason.INVALID_REQUEST, "m"), 400),
        (errors.Unauthenticated(Reason.CREDENTIAL_MISSING, "m"), 401),
        (errors.PermissionDenied(Reason.SCOPE_MISSING, "m"), 403),
        (errors.NotFound(Reason.SESSION_NOT_FOUND, "m"), 404),
        (MethodNotAllowed({"GET"}), 405),
        (errors.Aborted(Reason.ETAG_MISMATCH, "m"), 409),
        (errors.ResourceExhausted(Reason.MESSAGE_TOO_LARGE, "m"), 413),
        (errors.ResourceExhausted(Reason.POOL_EXHAUSTED, "m"), 429),
        (errors.Internal(Reason.INTERNAL, "m"), 500),
        (errors.Unimplemented(Reason.METHOD_NOT_FOUND, "m"), 501),
        (errors.Unavailable(Reason.SERVICE_UNAVAILABLE, "m"), 503),
        (errors.DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "m"), 504),
        (errors.ResourceExhausted(Reason.STORAGE_FULL, "m"), 507),
    ],
)
def test_an_error_has_its_status(error: errors.MeshError, status: int) -> None:
    response = problems.response(error, "r1")
    body = json.loads(response.body)
    assert (response.status_code, body["status"]) == (status, status)
    assert response.headers["content-type"] == "application/problem+json"
    assert body["reason"] == error.reason
    assert body["type"] == f"urn:mnemesh:error:{error.reason}"
    assert body["requestId"] == "r1"


def test_violations_have_the_names_of_json() -> None:
    body = problems.document(invalid_field("messages[3].source_id", "must be short", "STRING_MAX_LEN"), "r")
    assert body["detail"] == "messages[3].sourceId: must be short"
    assert body["violations"] == [
        {"field": "messages[3].sourceId", "description": "must be short", "reason": "STRING_MAX_LEN"}
    ]


def test_names_of_headers_and_keys_of_maps_stay() -> None:
    fields = ("X-User-ID", 'labels["a_b"]')
    error = InvalidArgument(
        Reason.INVALID_REQUEST, "m", ErrorDetails(violations=tuple(FieldViolation(field, "d") for field in fields))
    )
    assert [one["field"] for one in problems.document(error, "r")["violations"]] == list(fields)


def test_details_are_shown_only_when_there_are_any() -> None:
    plain = problems.document(errors.NotFound(Reason.TURN_NOT_FOUND, "turn not found"), "r")
    assert set(plain) == {"type", "title", "status", "detail", "reason", "requestId"}
    details = ErrorDetails(metadata={"turn_id": "t"}, resource=Resource("turn", "t"))
    full = problems.document(errors.Aborted(Reason.TURN_IN_PROGRESS, "m", details), "r")
    assert full["metadata"] == {"turn_id": "t"}
    assert full["resource"] == {"type": "turn", "name": "t"}


@pytest.mark.parametrize(("delay", "header"), [(timedelta(milliseconds=1), "1"), (timedelta(seconds=2.5), "3")])
def test_retry_after_is_whole_seconds_and_never_too_early(delay: timedelta, header: str) -> None:
    error = errors.ResourceExhausted(Reason.OVERLOADED, "m", ErrorDetails(retry_after=delay))
    assert problems.response(error, "r").headers["retry-after"] == header


def test_headers_that_go_with_a_status() -> None:
    assert problems.response(MethodNotAllowed({"POST", "GET"}), "r").headers["allow"] == "GET, POST"
    missing = errors.Unauthenticated(Reason.CREDENTIAL_MISSING, "m")
    assert problems.response(missing, "r").headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (errors.Unavailable(Reason.SERVICE_UNAVAILABLE, "m"), True),
        (errors.ResourceExhausted(Reason.OVERLOADED, "m"), True),
        (errors.FailedPrecondition(Reason.MODEL_REFUSED, "m"), False),
    ],
)
def test_a_broken_stream_ends_with_an_error_event(error: errors.MeshError, retryable: bool) -> None:
    body = problems.stream_error(error, "r")["error"]
    assert body["reason"] == error.reason
    assert body["retryable"] is retryable
    assert body["code"] == error.code
