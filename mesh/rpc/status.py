"""Errors as they cross the wire: `MeshError` to `google.rpc.Status` and back. The only place that knows both.

Trailing metadata has a bound of 8 KiB in gRPC's default settings, and a client drops a response that exceeds it, so an
error must never be larger: messages are cut, and violations that do not fit are counted instead of listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import islice
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from mesh.kernel import errors
from mesh.kernel.errors import Code, ErrorDetails, FieldViolation, MeshError, Resource
from mesh.kernel.reasons import Reason

DOMAIN = "mnemesh"
DETAILS_KEY = "grpc-status-details-bin"
REQUEST_ID_KEY = "x-request-id"

_MAX_MESSAGE_BYTES = 400
_MAX_FIELD_BYTES = 200
_MAX_METADATA_ENTRIES = 6
_MAX_VIOLATIONS_BYTES = 2400

M = TypeVar("M", bound=Message)

GRPC_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
"""Canonical code number to gRPC's enum."""

_REASONS = frozenset(reason.value for reason in Reason)

_CLASSES: Mapping[int, type[MeshError]] = {
    cls.code.value: cls
    for cls in (
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
    )
}


def to_status(error: MeshError, request_id: str = "") -> status_pb2.Status:
    """Return the rich status of an error: always `ErrorInfo`, and each other detail that the error has.

    Args:
        error: the error as the domain raised it.
        request_id: put into the metadata of an INTERNAL error, so that whoever reports it names our log line.
    """
    status = status_pb2.Status(code=error.code.value, message=_cut(error.message, _MAX_MESSAGE_BYTES))
    info = error_details_pb2.ErrorInfo(reason=error.reason.value, domain=DOMAIN)
    for key, value in islice(error.details.metadata.items(), _MAX_METADATA_ENTRIES):
        info.metadata[key] = _cut(value, _MAX_FIELD_BYTES)
    if error.code is Code.INTERNAL and request_id:
        info.metadata["request_id"] = request_id
    bad_request, omitted = _bad_request(error.details)
    if omitted:
        info.metadata["violations_omitted"] = str(omitted)
    for detail in (info, bad_request, _retry_info(error.details), _resource_info(error.details)):
        if detail is not None:
            status.details.add().Pack(detail)
    return status


def from_rpc_error(error: grpc.aio.AioRpcError) -> MeshError:
    """Return the error that a failed call stands for, to be raised by a client.

    An error of a mesh server keeps its code, reason, message and details. Anything else comes from the transport: its
    text stays behind and the code decides.
    """
    status = _rich_status(error.trailing_metadata())
    info = None if status is None else _detail(status, error_details_pb2.ErrorInfo)
    if status is None or info is None or info.domain != DOMAIN or info.reason not in _REASONS:
        return _transport_error(error)
    cls = _CLASSES.get(status.code, errors.Internal)
    return cls(Reason(info.reason), status.message, _read_details(status, info))


def _transport_error(error: grpc.aio.AioRpcError) -> MeshError:
    code = error.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "the time for the call ran out")
    if code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}:
        return errors.Unavailable(Reason.SERVICE_UNAVAILABLE, "a server that the call needs cannot be reached now")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return errors.Unimplemented(Reason.METHOD_NOT_FOUND, "the server does not have this method")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return _exhausted(error.details() or "")
    return errors.Internal(Reason.INTERNAL, "a server that the call needs failed")


def _exhausted(text: str) -> MeshError:
    # gRPC core answers this code for two bounds of its own and only its text tells them apart; a test pins the text.
    if "larger than max" in text:
        return errors.ResourceExhausted(Reason.MESSAGE_TOO_LARGE, "the message is larger than the server reads")
    retry = ErrorDetails(retry_after=timedelta(seconds=1))
    return errors.ResourceExhausted(Reason.OVERLOADED, "a server that the call needs sheds load", retry)


def _bad_request(details: ErrorDetails) -> tuple[error_details_pb2.BadRequest | None, int]:
    if not details.violations:
        return None, 0
    message = error_details_pb2.BadRequest()
    for index, violation in enumerate(details.violations):
        message.field_violations.add(
            field=_cut(violation.field, _MAX_FIELD_BYTES),
            description=_cut(violation.description, _MAX_FIELD_BYTES),
            reason=violation.reason,
        )
        if index and message.ByteSize() > _MAX_VIOLATIONS_BYTES:
            del message.field_violations[-1]
            return message, len(details.violations) - index
    return message, 0


def _retry_info(details: ErrorDetails) -> error_details_pb2.RetryInfo | None:
    if details.retry_after is None:
        return None
    info = error_details_pb2.RetryInfo()
    info.retry_delay.FromTimedelta(details.retry_after)
    return info


def _resource_info(details: ErrorDetails) -> error_details_pb2.ResourceInfo | None:
    if details.resource is None:
        return None
    return error_details_pb2.ResourceInfo(
        resource_type=details.resource.type,
        resource_name=_cut(details.resource.name, _MAX_FIELD_BYTES),
    )


def _rich_status(metadata: Any) -> status_pb2.Status | None:
    raw = dict(metadata or ()).get(DETAILS_KEY)
    if not isinstance(raw, bytes):
        return None
    try:
        return status_pb2.Status.FromString(raw)
    except DecodeError:
        return None


def _detail(status: status_pb2.Status, kind: type[M]) -> M | None:
    for packed in status.details:
        if packed.Is(kind.DESCRIPTOR):
            message = kind()
            packed.Unpack(message)
            return message
    return None


def _read_details(status: status_pb2.Status, info: error_details_pb2.ErrorInfo) -> ErrorDetails:
    bad_request = _detail(status, error_details_pb2.BadRequest)
    retry = _detail(status, error_details_pb2.RetryInfo)
    resource = _detail(status, error_details_pb2.ResourceInfo)
    return ErrorDetails(
        metadata=dict(info.metadata),
        violations=tuple(
            FieldViolation(item.field, item.description, item.reason)
            for item in (bad_request.field_violations if bad_request else ())
        ),
        retry_after=retry.retry_delay.ToTimedelta() if retry else None,
        resource=Resource(resource.resource_type, resource.resource_name) if resource else None,
    )


def _cut(text: str, limit_bytes: int) -> str:
    """Return a text that fits, and that protobuf accepts also when it holds half of a surrogate pair."""
    raw = text.encode("utf-8", "replace")
    return raw.decode() if len(raw) <= limit_bytes else raw[: limit_bytes - 3].decode("utf-8", "ignore") + "…"
