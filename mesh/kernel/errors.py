"""The errors that domain code, repositories and adapters raise.

One class per canonical gRPC code that we use, so that the transport needs one table to answer. The *reason* is the
machine-readable half (`ErrorReason` in `mnemesh/common/v1/error_reason.proto`), the message is written for the caller.
What a driver, a file system or an upstream said belongs in `__cause__`, which the log sees and the caller never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum
from typing import ClassVar

from mesh.kernel.reasons import Reason


class Code(IntEnum):
    """The canonical status codes. Source: google/rpc/code.proto."""

    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One bad input field.

    Args:
        field: path as in the request's protobuf text, such as `messages[3].text`.
        description: what the field must be, in one sentence.
        reason: an UPPER_SNAKE rule name, such as `STRING_MAX_LEN`.
    """

    field: str
    description: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """What an error is about: a type such as `session` and the id that the caller used."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """The optional parts of an error; each becomes one `google.rpc` detail message when it is set.

    Args:
        metadata: becomes `ErrorInfo.metadata`; keys in lower_snake, values short and free of user text.
        violations: become `BadRequest`.
        retry_after: becomes `RetryInfo`.
        resource: becomes `ResourceInfo`.
    """

    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: Sequence[FieldViolation] = ()
    retry_after: timedelta | None = None
    resource: Resource | None = None


class MeshError(Exception):
    """Root of every error that may reach a caller. Raise one of the subclasses."""

    code: ClassVar[Code] = Code.INTERNAL

    def __init__(self, reason: Reason, message: str, details: ErrorDetails | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = details or ErrorDetails()


class InvalidArgument(MeshError):
    """The request can never succeed as it is."""

    code = Code.INVALID_ARGUMENT


class NotFound(MeshError):
    """The resource does not exist, or the caller may not know that it does."""

    code = Code.NOT_FOUND


class AlreadyExists(MeshError):
    """A resource with this identity exists."""

    code = Code.ALREADY_EXISTS


class PermissionDenied(MeshError):
    """The caller is known and lacks a scope."""

    code = Code.PERMISSION_DENIED


class Unauthenticated(MeshError):
    """No credential, or one that does not hold."""

    code = Code.UNAUTHENTICATED


class FailedPrecondition(MeshError):
    """The system is not in the state that the operation needs; retrying alone does not help."""

    code = Code.FAILED_PRECONDITION


class Aborted(MeshError):
    """A concurrent change won (a stale etag, a running turn); retry at a higher level."""

    code = Code.ABORTED


class ResourceExhausted(MeshError):
    """A bound was reached: a pool, a queue, a quota."""

    code = Code.RESOURCE_EXHAUSTED


class Unavailable(MeshError):
    """A dependency cannot be reached now; the same call may succeed later."""

    code = Code.UNAVAILABLE


class DeadlineExceeded(MeshError):
    """The time for the call ran out."""

    code = Code.DEADLINE_EXCEEDED


class Unimplemented(MeshError):
    """The method exists in no served contract."""

    code = Code.UNIMPLEMENTED


class Internal(MeshError):
    """A defect of ours. Its message is the same for every caller; the log has the cause."""

    code = Code.INTERNAL


def invalid_field(path: str, description: str, reason: str = "") -> InvalidArgument:
    """Return the error for one bad field, named by its path in the request."""
    details = ErrorDetails(violations=(FieldViolation(path, description, reason),))
    return InvalidArgument(Reason.INVALID_REQUEST, f"{path}: {description}", details)


def not_found(reason: Reason, kind: str, name: str) -> NotFound:
    """Return the error for a missing resource; other owners' resources are answered with the same words."""
    return NotFound(reason, f"{kind} not found", ErrorDetails(resource=Resource(kind, name)))
