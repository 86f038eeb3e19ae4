"""Errors as problem documents. Source: RFC 9457; the status of each code follows google/rpc/code.proto."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import orjson
from starlette.responses import Response

from gateway.http.names import json_path
from gateway.http.transcode import MethodNotAllowed
from mesh.kernel.errors import Aborted, Code, FieldViolation, Internal, MeshError, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:mnemesh:error:"

STATUS_OF_CODE: Mapping[Code, int] = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}

STATUS_OF_REASON: Mapping[Reason, int] = {
    Reason.MESSAGE_TOO_LARGE: 413,
    Reason.ROUTE_NOT_FOUND: 404,
    Reason.METHOD_NOT_ALLOWED: 405,
    Reason.SCHEMA_BEHIND: 503,
    Reason.CONFIGURATION_INVALID: 500,
    Reason.EMBEDDING_SPACE_MISMATCH: 500,
    Reason.STORAGE_FULL: 507,
}
"""Reasons for which HTTP has a more exact status than that of their code."""

DEFAULT_WAIT = timedelta(seconds=1)
"""What `Retry-After` says when a server is away and the error does not say how long."""

TITLES: Mapping[int, str] = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not permitted",
    404: "Not found",
    405: "Method not allowed",
    408: "Request too slow",
    409: "Conflict",
    413: "Content too large",
    415: "Unsupported media type",
    429: "Too many requests",
    499: "Client closed the request",
    500: "Internal error",
    501: "Not implemented",
    503: "Unavailable",
    504: "Out of time",
    507: "Out of storage",
}


class HttpError(Exception):
    """An error of the mesh with a status that only HTTP has, such as 415."""

    def __init__(self, status: int, error: MeshError) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


def status_of(error: MeshError) -> int:
    """Return the HTTP status of an error."""
    return STATUS_OF_REASON.get(error.reason) or STATUS_OF_CODE[error.code]


def document(error: MeshError, request_id: str, status: int = 0) -> dict[str, Any]:
    """Return the problem document of an error.

    Args:
        error: the error as the server raised it.
        request_id: the id under which the logs have the request.
        status: HTTP status; 0 means that of the error.
    """
    number = status or status_of(error)
    problem: dict[str, Any] = {
        "type": f"{TYPE_PREFIX}{error.reason.value}",
        "title": TITLES[number],
        "status": number,
        "detail": _detail(error),
        "reason": error.reason.value,
        "requestId": request_id,
    }
    if error.details.violations:
        problem["violations"] = [_violation(one) for one in error.details.violations]
    if error.details.metadata:
        problem["metadata"] = dict(error.details.metadata)
    if error.details.resource:
        problem["resource"] = {"type": error.details.resource.type, "name": error.details.resource.name}
    return problem


def response(error: MeshError, request_id: str, status: int = 0) -> Response:
    """Return the response for an error; the arguments are those of `document`."""
    body = document(error, request_id, status)
    return Response(orjson.dumps(body), body["status"], _headers(error, body["status"]), MEDIA_TYPE)


def stream_error(error: MeshError, request_id: str) -> dict[str, Any]:
    """Return the last event of a stream that broke after it had begun, in the form of a turn's own `error` event."""
    return {
        "error": {
            "turnId": "",
            "reason": error.reason.value,
            "message": _detail(error),
            "retryable": isinstance(error, Unavailable | ResourceExhausted | Aborted),
            "code": error.code.value,
            "requestId": request_id,
        }
    }


def defect() -> Internal:
    """Return the error for an exception that nobody foresaw."""
    return Internal(Reason.INTERNAL, "a defect of ours; the log has its cause under the request id")


def _headers(error: MeshError, status: int) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    wait = error.details.retry_after
    if wait is None and error.code is Code.UNAVAILABLE:
        wait = DEFAULT_WAIT
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait.total_seconds())))
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    if status == STATUS_OF_CODE[Code.UNAUTHENTICATED]:
        headers["WWW-Authenticate"] = 'Bearer realm="mnemesh"'
    return headers


def _detail(error: MeshError) -> str:
    for violation in error.details.violations:
        start = f"{violation.field}:"
        if violation.field and error.message.startswith(start):
            return json_path(violation.field) + error.message.removeprefix(violation.field)
    return error.message


def _violation(violation: FieldViolation) -> dict[str, str]:
    return {
        "field": json_path(violation.field),
        "description": violation.description,
        "reason": violation.reason,
    }
