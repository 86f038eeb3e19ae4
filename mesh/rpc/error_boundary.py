"""Status interceptor: nothing that a call raises reaches the caller, or gRPC, except as a status that is meant for it.

Bare grpc.aio answers an exception with its text, and a stray cancellation with nothing at all, so that the caller waits
for its deadline. Both end here. The full story of a defect goes to the log, under the request id that the caller gets.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Never, cast

import grpc

from mesh.kernel.errors import Code, DeadlineExceeded, Internal, MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.rpc.method import Handler, Method, Rpc
from mesh.rpc.status import DETAILS_KEY, GRPC_CODES, REQUEST_ID_KEY, to_status

_LOG = logging.getLogger("mesh.rpc")


class StatusInterceptor:
    """Turns what a call raises into its status."""

    name = "status"
    requires = ("trace", "access_log")

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        async def handle(rpc: Rpc) -> bytes | None:
            try:
                return await proceed(rpc)
            except MeshError as error:
                await _answer(method, rpc, error)
            except TimeoutError:
                await _answer(method, rpc, DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "the time for the call ran out"))
            except asyncio.CancelledError:
                if _is_cancelled_by_caller():
                    _note_cancelled(rpc)
                    raise
                await _answer(method, rpc, _stray_cancellation())
            except (grpc.aio.AbortError, grpc.aio.InternalError):
                _note_ended_elsewhere(rpc)
                raise
            except Exception as error:  # noqa: BLE001 - the boundary: whatever it is, the caller must not see it
                await _answer(method, rpc, _expected_in(error) or _defect(error))

        return handle


async def _answer(method: Method, rpc: Rpc, error: MeshError) -> Never:
    rpc.code, rpc.reason = GRPC_CODES[error.code.value], error.reason.value
    if error.code is Code.INTERNAL:
        _LOG.error("%s failed", method.path, exc_info=error.__cause__ or error, extra={"reason": rpc.reason})
    status = to_status(error, rpc.request_id)
    trailing = ((REQUEST_ID_KEY, rpc.request_id), (DETAILS_KEY, status.SerializeToString()))
    await rpc.context.abort(rpc.code, status.message, trailing)


def _expected_in(error: Exception) -> MeshError | None:
    """Return the error that a failed task group stands for, when nothing in it is a defect."""
    if not isinstance(error, ExceptionGroup):
        return None
    expected, defects = error.split(MeshError)
    if expected is None or defects is not None:
        return None
    first: Exception = expected
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, MeshError) else None


def _defect(cause: Exception) -> Internal:
    error = Internal(Reason.INTERNAL, "internal error; the log has the cause under the request id")
    error.__cause__ = cause
    return error


def _stray_cancellation() -> Unavailable:
    return Unavailable(Reason.SERVICE_UNAVAILABLE, "the work was cancelled inside the server; try again")


def _is_cancelled_by_caller() -> bool:
    # gRPC cancels this very task when the caller leaves or the server stops; a cancelled future that was only awaited
    # raises the same error without that request.
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _note_cancelled(rpc: Rpc) -> None:
    late = rpc.context.time_remaining() == 0
    rpc.code = grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.CANCELLED
    rpc.reason = (Reason.DEADLINE_EXCEEDED if late else Reason.CANCELLED).value


def _note_ended_elsewhere(rpc: Rpc) -> None:
    # Either the handler aborted by itself, then gRPC knows the code, or the connection broke while we wrote to it.
    rpc.code = cast("grpc.StatusCode | None", rpc.context.code()) or grpc.StatusCode.CANCELLED
