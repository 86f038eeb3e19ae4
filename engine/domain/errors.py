"""The errors of the engine, each made in one place."""

from __future__ import annotations

from datetime import timedelta

from mesh.kernel.errors import (
    Aborted,
    Code,
    DeadlineExceeded,
    ErrorDetails,
    FieldViolation,
    Internal,
    InvalidArgument,
    MeshError,
    NotFound,
    Resource,
    ResourceExhausted,
    Unavailable,
    not_found,
)
from mesh.kernel.reasons import Reason

BUSY_RETRY_AFTER = timedelta(seconds=1)
"""How long a caller is asked to wait when the engine runs as many turns as it may."""

_RETRYABLE = frozenset({Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED, Code.ABORTED})


def thread_not_found(session_id: str) -> NotFound:
    """Return the error for a session without a thread of the caller's."""
    return not_found(Reason.THREAD_NOT_FOUND, "thread", session_id)


def turn_not_found(turn_id: str) -> NotFound:
    """Return the error for a turn that the thread does not hold."""
    return not_found(Reason.TURN_NOT_FOUND, "turn", turn_id)


def turn_in_progress(turn_id: str) -> Aborted:
    """Return the error for a thread whose turn still runs (G16)."""
    details = ErrorDetails(metadata={"turn_id": turn_id}, resource=Resource("turn", turn_id))
    return Aborted(Reason.TURN_IN_PROGRESS, "Another turn is running in this session.", details)


def request_id_reused() -> InvalidArgument:
    """Return the error for a request id that belongs to another message."""
    violation = FieldViolation("request_id", "was used for a different request", "REQUEST_ID_REUSED")
    return InvalidArgument(
        Reason.REQUEST_ID_REUSED,
        "request_id: was used for a different request; use a new one",
        ErrorDetails(violations=(violation,)),
    )


class LeaseLost(Aborted):
    """The attempt was replaced by another one; what it made is thrown away and nothing may be written."""

    def __init__(self, turn_id: str) -> None:
        details = ErrorDetails(metadata={"turn_id": turn_id})
        super().__init__(Reason.CONFLICT, "The turn was taken over by another attempt.", details)


def too_many_turns() -> ResourceExhausted:
    """Return the error for a process that runs as many turns as it may."""
    return ResourceExhausted(
        Reason.OVERLOADED, "Too many turns are running.", ErrorDetails(retry_after=BUSY_RETRY_AFTER)
    )


def empty_answer() -> Unavailable:
    """Return the error for a model that ended well and said nothing (G11: never an empty success)."""
    return Unavailable(Reason.MODEL_OUTPUT_INVALID, "The language model returned an empty answer.")


def interrupted() -> Unavailable:
    """Return the error of a turn that its engine could not finish."""
    return Unavailable(Reason.SERVICE_UNAVAILABLE, "The turn was interrupted; send it again.")


def too_slow() -> DeadlineExceeded:
    """Return the error of a turn that took longer than it may."""
    return DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "The turn took longer than it may.")


def database_error() -> Internal:
    """Return the error of a turn whose answer the database refused (SEEDS L13)."""
    return Internal(Reason.DB_ERROR, "The database refused an operation.")


def defect() -> Internal:
    """Return the error of a turn that hit a defect of ours; the log has the cause."""
    return Internal(Reason.INTERNAL, "The turn failed because of an internal error.")


def is_retryable(error: MeshError) -> bool:
    """Tell whether the same request, with the same request id, may succeed later."""
    return error.code in _RETRYABLE
