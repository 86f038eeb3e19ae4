"""What a caller learns when something goes wrong, over a real connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import grpc
import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from mesh.kernel import errors
from mesh.kernel.errors import ErrorDetails, FieldViolation, MeshError, Resource
from mesh.kernel.reasons import Reason
from mesh.rpc.status import from_rpc_error
from tests.contract.mesh_rpc.echo import EchoServicer, pb, serving

SECRET = "postgresql://app:hunter2@10.0.0.1/db"


class Rude(BaseException):
    """Not even an Exception."""


def raising(error: BaseException) -> EchoServicer:
    """Return a servicer whose unary method and stream raise an error."""
    servicer = EchoServicer()

    async def say(request: Any) -> Any:
        raise error

    async def count(request: Any) -> AsyncIterator[Any]:
        for number in range(request.to):
            yield pb().SayResponse(number=number)
        raise error

    servicer.say, servicer.count = say, count
    return servicer


async def drained(call: Any, received: list[Any]) -> None:
    """Read a stream to its end; what came before an error is in the list."""
    async for item in call:
        received.append(item)


async def failed(call: Any) -> MeshError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_rpc_error(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidArgument(
            Reason.INVALID_REQUEST,
            "text: too long",
            ErrorDetails(violations=(FieldViolation("text", "too long", "X"),)),
        ),
        errors.NotFound(Reason.FACT_NOT_FOUND, "fact not found", ErrorDetails(resource=Resource("fact", "f1"))),
        errors.AlreadyExists(Reason.ALREADY_EXISTS, "there is one"),
        errors.PermissionDenied(Reason.SCOPE_MISSING, "no"),
        errors.Unauthenticated(Reason.CREDENTIAL_EXPIRED, "old"),
        errors.FailedPrecondition(Reason.SCHEMA_BEHIND, "migrate"),
        errors.Aborted(Reason.TURN_IN_PROGRESS, "busy", ErrorDetails(metadata={"turn_id": "t1"})),
        errors.ResourceExhausted(Reason.POOL_EXHAUSTED, "full", ErrorDetails(retry_after=timedelta(seconds=2))),
        errors.Unavailable(Reason.DATABASE_UNAVAILABLE, "the database is away"),
        errors.DeadlineExceeded(Reason.MODEL_STALLED, "the model sent nothing"),
        errors.Unimplemented(Reason.METHOD_NOT_FOUND, "not here"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_error_of_the_domain_arrives_whole(error: MeshError) -> None:
    async with serving(servicer=raising(error)) as echo:
        for call in (echo.stub.Say(pb().SayRequest()), echo.stub.Count(pb().CountRequest(to=0)).read()):
            back = await failed(call)
            assert (type(back), back.reason, back.message) == (type(error), error.reason, error.message)
            assert back.details == error.details


async def test_umlauts_and_line_breaks_in_messages_arrive() -> None:
    text = "Größe: „100 %“\nzweite Zeile 😀"
    async with serving(servicer=raising(errors.Aborted(Reason.CONFLICT, text))) as echo:
        assert (await failed(echo.stub.Say(pb().SayRequest()))).message == text


@pytest.mark.parametrize("error", [RuntimeError(SECRET), KeyError(SECRET), OSError(5, SECRET), AssertionError(SECRET)])
async def test_text_of_a_defect_stays_in_the_log(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(servicer=raising(error)) as echo:
        for call in (echo.stub.Say(pb().SayRequest()), echo.stub.Count(pb().CountRequest(to=2))):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await (drained(call, []) if hasattr(call, "read") else call)
            assert caught.value.code() is grpc.StatusCode.INTERNAL
            everything = repr(caught.value.details()) + repr(caught.value.trailing_metadata())
            assert "hunter2" not in everything
            assert "10.0.0.1" not in everything
            back = from_rpc_error(caught.value)
            assert back.reason is Reason.INTERNAL
            request_id = dict(caught.value.trailing_metadata())["x-request-id"]
            assert back.details.metadata == {"request_id": request_id}
    assert caplog.text.count("hunter2") >= 2


async def test_cause_of_an_internal_error_is_logged_and_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    error = errors.Internal(Reason.DB_ERROR, "the database refused a statement")
    error.__cause__ = ValueError(SECRET)
    async with serving(servicer=raising(error)) as echo:
        back = await failed(echo.stub.Say(pb().SayRequest()))
    assert (back.reason, back.message) == (Reason.DB_ERROR, "the database refused a statement")
    assert "hunter2" in caplog.text


async def test_time_limit_inside_of_the_handler_is_deadline_exceeded() -> None:
    async with serving(servicer=raising(TimeoutError("connect to 10.0.0.1"))) as echo:
        back = await failed(echo.stub.Say(pb().SayRequest()))
    assert (type(back), back.reason) == (errors.DeadlineExceeded, Reason.DEADLINE_EXCEEDED)
    assert "10.0.0.1" not in back.message


async def test_cancellation_that_nobody_asked_for_is_answered_at_once() -> None:
    servicer = EchoServicer()

    async def say(request: Any) -> Any:
        lost = asyncio.get_running_loop().create_future()
        lost.cancel()
        await lost

    servicer.say = say
    async with serving(servicer=servicer) as echo:
        back = await asyncio.wait_for(failed(echo.stub.Say(pb().SayRequest(), timeout=20)), 5)
    assert (type(back), back.reason) == (errors.Unavailable, Reason.SERVICE_UNAVAILABLE)


@pytest.mark.parametrize(
    ("failures", "reason"),
    [
        ([errors.Unavailable(Reason.MODEL_UNAVAILABLE, "away")], Reason.MODEL_UNAVAILABLE),
        (
            [errors.Unavailable(Reason.MODEL_UNAVAILABLE, "a"), errors.Aborted(Reason.CONFLICT, "b")],
            Reason.MODEL_UNAVAILABLE,
        ),
        ([errors.Unavailable(Reason.MODEL_UNAVAILABLE, "away"), RuntimeError(SECRET)], Reason.INTERNAL),
    ],
)
async def test_error_in_a_task_group_is_the_error_of_the_call(failures: list[Exception], reason: Reason) -> None:
    servicer = EchoServicer()

    async def say(request: Any) -> Any:
        ready = asyncio.Event()

        async def fail(error: Exception) -> None:
            await ready.wait()
            raise error

        async with asyncio.TaskGroup() as group:
            for error in failures:
                group.create_task(fail(error))
            ready.set()

    servicer.say = say
    async with serving(servicer=servicer) as echo:
        back = await failed(echo.stub.Say(pb().SayRequest()))
    assert back.reason is reason
    assert "hunter2" not in back.message


async def test_answer_of_the_wrong_type_is_internal() -> None:
    servicer = EchoServicer()

    async def say(request: Any) -> Any:
        return {"text": SECRET}

    servicer.say = say
    async with serving(servicer=servicer) as echo:
        assert (await failed(echo.stub.Say(pb().SayRequest()))).reason is Reason.INTERNAL


async def test_error_in_mid_stream_comes_after_what_was_sent() -> None:
    async with serving(servicer=raising(errors.Unavailable(Reason.MODEL_UNAVAILABLE, "away"))) as echo:
        call = echo.stub.Count(pb().CountRequest(to=3))
        received: list[Any] = []
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await drained(call, received)
        assert [item.number for item in received] == [0, 1, 2]
        assert from_rpc_error(caught.value).reason is Reason.MODEL_UNAVAILABLE


async def test_error_while_the_client_streams_ends_the_call() -> None:
    async with serving(servicer=raising(errors.Aborted(Reason.CONFLICT, "again"))) as echo:
        call = echo.stub.Chat()
        await call.write(pb().SayRequest(text="x"))
        assert (await failed(call.read())).reason is Reason.CONFLICT


async def test_stream_is_closed_when_its_reader_leaves() -> None:
    servicer = EchoServicer()
    closed = asyncio.Event()

    async def count(request: Any) -> AsyncIterator[Any]:
        try:
            yield pb().SayResponse(number=1)
            await asyncio.Event().wait()
        finally:
            closed.set()

    servicer.count = count
    async with serving(servicer=servicer) as echo:
        call = echo.stub.Count(pb().CountRequest())
        assert (await call.read()).number == 1
        call.cancel()
        await asyncio.wait_for(closed.wait(), 5)


async def test_abort_of_the_servicer_itself_is_left_as_it_is() -> None:
    class Aborting(EchoServicer):
        async def Say(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, "too far")

    async with serving(servicer=Aborting()) as echo:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await echo.stub.Say(pb().SayRequest())
    assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.OUT_OF_RANGE, "too far")


async def test_many_violations_do_not_break_the_answer() -> None:
    violations = tuple(
        FieldViolation(f"facts[{n}].value", "must not be empty" * 9, "STRING_MIN_LEN") for n in range(500)
    )
    error = errors.InvalidArgument(Reason.INVALID_REQUEST, "x" * 5000, ErrorDetails(violations=violations))
    async with serving(servicer=raising(error)) as echo:
        back = await failed(echo.stub.Say(pb().SayRequest()))
    assert back.reason is Reason.INVALID_REQUEST
    assert len(back.details.violations) + int(back.details.metadata["violations_omitted"]) == 500


async def test_unknown_method_is_told_as_such() -> None:
    async with serving() as echo:
        for path in ("/meshtest.echo.v1.EchoService/Nope", "/nope.v1.Nope/Nope", "/x"):
            back = await failed(echo.bare.unary_unary(path)(b""))
            assert (type(back), back.reason) == (errors.Unimplemented, Reason.METHOD_NOT_FOUND)


async def test_server_that_is_not_there_is_unavailable_soon() -> None:
    async with serving() as echo:
        await echo.server.stop(0)
        back = await asyncio.wait_for(failed(echo.stub.Say(pb().SayRequest())), 5)
    assert (type(back), back.reason) == (errors.Unavailable, Reason.SERVICE_UNAVAILABLE)


async def test_every_call_is_measured_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    servicer = EchoServicer()
    async with serving(servicer=servicer) as echo:
        await echo.stub.Say(pb().SayRequest())
        await drained(echo.stub.Count(pb().CountRequest(to=2)), [])
        servicer.say = raising(errors.Aborted(Reason.CONFLICT, "x")).say
        await failed(echo.stub.Say(pb().SayRequest()))
        await failed(echo.bare_stub.Say(pb().SayRequest()))
    data: Any = reader.get_metrics_data()
    points = {metric.name: metric.data.data_points for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    counts = {
        (point.attributes["rpc.method"], point.attributes["rpc.grpc.status_code"]): point.count
        for point in points["rpc.server.duration"]
    }
    assert counts == {("Say", 0): 1, ("Count", 0): 1, ("Say", 10): 1, ("Say", 16): 1}
    assert all(point.value == 0 for point in points["rpc.server.active_requests"])


async def test_levels_of_the_log_follow_whose_fault_it_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mesh.rpc.access")
    servicer = EchoServicer()
    async with serving(servicer=servicer, settings={"access_log": True}) as echo:
        await echo.stub.Say(pb().SayRequest(text="private words"))
        for error in (
            errors.NotFound(Reason.FACT_NOT_FOUND, "x"),
            errors.Unavailable(Reason.MODEL_UNAVAILABLE, "x"),
            RuntimeError("x"),
        ):
            servicer.say = raising(error).say
            await failed(echo.stub.Say(pb().SayRequest(text="private words")))
    lines = [record for record in caplog.records if record.name == "mesh.rpc.access"]
    assert [(line.levelname, getattr(line, "reason", "")) for line in lines] == [
        ("INFO", ""),
        ("INFO", "FACT_NOT_FOUND"),
        ("WARNING", "MODEL_UNAVAILABLE"),
        ("ERROR", "INTERNAL"),
    ]
    assert lines[0].getMessage() == "/meshtest.echo.v1.EchoService/Say OK"
    assert all(line.duration_ms > 0 and line.principal == "api_key:1" for line in lines)  # type: ignore[attr-defined]
    assert "private words" not in caplog.text
