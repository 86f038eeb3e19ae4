"""Errors on the wire, both directions, without a server."""

from __future__ import annotations

from datetime import timedelta

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import example, given
from hypothesis import strategies as st

from mesh.kernel import errors
from mesh.kernel.errors import ErrorDetails, FieldViolation, MeshError, Resource
from mesh.kernel.reasons import Reason
from mesh.rpc.status import DETAILS_KEY, GRPC_CODES, from_rpc_error, to_status

CLASSES = [
    errors.InvalidArgument,
    errors.NotFound,
    errors.AlreadyExists,
    errors.PermissionDenied,
    errors.Unauthenticated,
    errors.FailedPrecondition,
    errors.Aborted,
    errors.ResourceExhausted,
    errors.Unavailable,
    errors.DeadlineExceeded,
    errors.Unimplemented,
    errors.Internal,
]
METADATA_LIMIT_BYTES = 8192  # what gRPC clients accept by default


def received(error: MeshError, request_id: str = "") -> grpc.aio.AioRpcError:
    """Return what a client raises for an error that a server answered."""
    status = to_status(error, request_id)
    return transport(GRPC_CODES[status.code], status.message, status.SerializeToString())


def transport(code: grpc.StatusCode, text: str, details: bytes | None = None) -> grpc.aio.AioRpcError:
    trailing = grpc.aio.Metadata() if details is None else grpc.aio.Metadata((DETAILS_KEY, details))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, text)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("reason", [Reason.INTERNAL, Reason.TURN_IN_PROGRESS, Reason.SESSION_NOT_FOUND])
def test_error_keeps_class_reason_message_and_details(cls: type[MeshError], reason: Reason) -> None:
    details = ErrorDetails(
        metadata={"turn_id": "t1"},
        violations=(FieldViolation("facts[1].key", "must be short", "STRING_MAX_LEN"),),
        retry_after=timedelta(milliseconds=1500),
        resource=Resource("session", "s1"),
    )
    back = from_rpc_error(received(cls(reason, "in words", details)))
    assert (type(back), back.reason, back.message, back.details) == (cls, reason, "in words", details)


def test_every_status_has_error_info_with_our_domain_and_no_other_detail_unasked() -> None:
    status = to_status(errors.Aborted(Reason.CONFLICT, "again"))
    assert len(status.details) == 1
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.domain, info.reason, dict(info.metadata)) == ("mnemesh", "CONFLICT", {})


def test_internal_errors_name_the_request_and_others_do_not() -> None:
    internal = from_rpc_error(received(errors.Internal(Reason.INTERNAL, "defect"), "r-1"))
    aborted = from_rpc_error(received(errors.Aborted(Reason.CONFLICT, "again"), "r-1"))
    assert (internal.details.metadata, aborted.details.metadata) == ({"request_id": "r-1"}, {})


@pytest.mark.parametrize(
    ("code", "cls", "reason"),
    [
        (grpc.StatusCode.UNAVAILABLE, errors.Unavailable, Reason.SERVICE_UNAVAILABLE),
        (grpc.StatusCode.CANCELLED, errors.Unavailable, Reason.SERVICE_UNAVAILABLE),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineExceeded, Reason.DEADLINE_EXCEEDED),
        (grpc.StatusCode.UNIMPLEMENTED, errors.Unimplemented, Reason.METHOD_NOT_FOUND),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, errors.ResourceExhausted, Reason.OVERLOADED),
        (grpc.StatusCode.UNKNOWN, errors.Internal, Reason.INTERNAL),
        (grpc.StatusCode.INTERNAL, errors.Internal, Reason.INTERNAL),
        (grpc.StatusCode.DATA_LOSS, errors.Internal, Reason.INTERNAL),
        (grpc.StatusCode.NOT_FOUND, errors.Internal, Reason.INTERNAL),
    ],
)
def test_transport_failure_is_told_by_its_code_and_its_text_stays_behind(
    code: grpc.StatusCode, cls: type[MeshError], reason: Reason
) -> None:
    back = from_rpc_error(transport(code, "ipv4:10.0.0.1:5432: password=hunter2"))
    assert (type(back), back.reason) == (cls, reason)
    assert "hunter2" not in back.message


@pytest.mark.parametrize(
    "details",
    [
        b"\xff\xff",
        b"",
        status_pb2.Status(code=5, message="x").SerializeToString(),
    ],
)
def test_status_that_is_not_ours_is_a_transport_failure(details: bytes) -> None:
    back = from_rpc_error(transport(grpc.StatusCode.UNAVAILABLE, "x", details))
    assert (type(back), back.reason) == (errors.Unavailable, Reason.SERVICE_UNAVAILABLE)


@pytest.mark.parametrize(("domain", "reason"), [("googleapis.com", "INTERNAL"), ("mnemesh", "REASON_OF_NEXT_YEAR")])
def test_foreign_domain_or_unknown_reason_is_a_transport_failure(domain: str, reason: str) -> None:
    status = status_pb2.Status(code=14, message="x")
    status.details.add().Pack(error_details_pb2.ErrorInfo(domain=domain, reason=reason))
    back = from_rpc_error(transport(grpc.StatusCode.UNAVAILABLE, "x", status.SerializeToString()))
    assert back.reason is Reason.SERVICE_UNAVAILABLE


@example("\U0001f600" * 2000, [("\U0001f600" * 600,) * 2] * 300, dict.fromkeys("abcdefghijkl", "\U0001f600" * 400))
@example("\ud800", [("\ud800",) * 2], {"a": "\ud800"})
@given(
    st.text(max_size=2000),
    st.lists(st.tuples(st.text(max_size=600), st.text(max_size=600)), min_size=1, max_size=300),
    st.dictionaries(st.text("abc", min_size=1), st.text(max_size=400), max_size=3),
)
def test_errors_always_fit_into_trailing_metadata(
    message: str, violations: list[tuple[str, str]], metadata: dict[str, str]
) -> None:
    details = ErrorDetails(metadata, tuple(FieldViolation(field, text, "RULE") for field, text in violations))
    status = to_status(errors.InvalidArgument(Reason.INVALID_REQUEST, message, details))
    encoded = len(status.SerializeToString()) * 4 / 3 + len(status.message.encode()) * 3
    assert encoded < METADATA_LIMIT_BYTES
    back = from_rpc_error(transport(grpc.StatusCode.INVALID_ARGUMENT, status.message, status.SerializeToString()))
    omitted = int(back.details.metadata.get("violations_omitted", 0))
    assert 1 <= len(back.details.violations) == len(violations) - omitted
