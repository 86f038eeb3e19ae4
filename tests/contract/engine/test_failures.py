"""What a turn does when the model, memory or the caller fails (G17, G18)."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta

import pytest

from engine.usecase.limits import MAX_ANSWER_CHARS
from mesh.kernel.errors import (
    DeadlineExceeded,
    ErrorDetails,
    FailedPrecondition,
    MeshError,
    ResourceExhausted,
    Unavailable,
)
from mesh.kernel.reasons import Reason
from mesh.models.builtin import GroundedResponder
from mesh.models.protocols import Finish, UsageReport
from mnemesh.conversation.v1 import conversation_service_pb2 as pb
from mnemesh.conversation.v1 import turn_pb2
from mnemesh.memory.v1.recall_service_pb2 import DegradedArm
from tests.contract.engine.mesh_of_one import MeshOfOne, answer, first, kinds, new_uuid, rest
from tests.contract.engine.scripted_model import MEASURED, Pause, ScriptedModel, Step, says

STALLED = DeadlineExceeded(Reason.MODEL_STALLED, "The model sent nothing for 15 s.")
REFUSED = FailedPrecondition(Reason.MODEL_REFUSED, "The model refused.")
LIMITED = ResourceExhausted(
    Reason.MODEL_RATE_LIMITED, "Too many requests.", ErrorDetails(retry_after=timedelta(seconds=3))
)
ESTIMATE = UsageReport(11, 0, measured=False)


def terminal(events: list[pb.ConverseResponse]) -> list[str]:
    return [kind for kind in kinds(events) if kind in {"committed", "error"}]


@pytest.mark.parametrize(
    ("script", "reason", "retryable", "code", "usage"),
    [
        (["Half an ", ESTIMATE, STALLED], "MODEL_STALLED", True, 4, (11, 0, False)),
        ([MEASURED, REFUSED], "MODEL_REFUSED", False, 9, (7, 3, True)),
        ([ESTIMATE, LIMITED], "MODEL_RATE_LIMITED", True, 8, (11, 0, False)),
        ([MEASURED, Finish()], "MODEL_OUTPUT_INVALID", True, 14, (7, 3, True)),
        ([" ".join("\x00"), MEASURED, Finish()], "MODEL_OUTPUT_INVALID", True, 14, (7, 3, True)),
    ],
    ids=["stall", "refusal", "rate limit", "empty answer", "nothing storable"],
)
async def test_g18_a_failing_model_ends_the_stream_with_one_error_and_one_usage_row(
    mesh: MeshOfOne, script: list[Step], reason: str, retryable: bool, code: int, usage: tuple[int, int, bool]
) -> None:
    engine = await mesh.engine(ScriptedModel([script]))
    session = new_uuid()

    events = await engine.converse(session)

    assert terminal(events) == ["error"]
    error = events[-1].error
    assert (error.reason, error.retryable, error.code) == (reason, retryable, code)
    [turn] = (await engine.turns(session)).turns
    assert (turn.state, turn.failure_reason, turn.assistant_text) == (turn_pb2.TURN_STATE_FAILED, reason, "")
    assert turn.HasField("end_time")
    [row] = await mesh.rows("select * from engine.token_usage")
    assert (row["input_tokens"], row["output_tokens"], row["measured"]) == usage
    assert row["outcome"] == "failed"
    assert await mesh.rows("select 1 from engine.outbox") == []


async def test_a_model_that_raises_without_a_report_is_charged_with_an_estimate(mesh: MeshOfOne) -> None:
    engine = await mesh.engine(ScriptedModel([["Half an answer", STALLED]]))

    await engine.converse(new_uuid(), "Hello there")

    [row] = await mesh.rows("select * from engine.token_usage")
    assert row["measured"] is False
    assert row["input_tokens"] > 0
    assert row["output_tokens"] == 4


async def test_each_attempt_at_the_provider_has_its_row(mesh: MeshOfOne) -> None:
    second = dataclasses.replace(MEASURED, attempt=2)
    engine = await mesh.engine(ScriptedModel([[ESTIMATE, "Here.", second, Finish()]]))

    events = await engine.converse(new_uuid())

    rows = await mesh.rows("select * from engine.token_usage order by provider_attempt")
    assert [(row["provider_attempt"], row["input_tokens"], row["outcome"]) for row in rows] == [
        (1, 11, "failed"),
        (2, 7, "finished"),
    ]
    assert events[-1].committed.usage.input_tokens == 7


async def test_a_defect_ends_the_turn_as_internal_and_tells_nothing(mesh: MeshOfOne) -> None:
    engine = await mesh.engine(ScriptedModel([["Half", ValueError("password=hunter2")]]))
    session = new_uuid()

    events = await engine.converse(session)

    assert terminal(events) == ["error"]
    assert (events[-1].error.reason, events[-1].error.retryable) == ("INTERNAL", False)
    assert "hunter2" not in events[-1].error.message
    [turn] = (await engine.turns(session)).turns
    assert turn.failure_reason == "INTERNAL"


async def test_a_turn_that_takes_too_long_is_cut_off_and_its_model_call_closed(mesh: MeshOfOne) -> None:
    mesh.limits = dataclasses.replace(mesh.limits, max_turn_s=0.2)
    model = ScriptedModel([["Wait", Pause(), *says("never")]])
    engine = await mesh.engine(model)

    events = await engine.converse(new_uuid())

    assert (events[-1].error.reason, events[-1].error.retryable) == ("DEADLINE_EXCEEDED", True)
    assert model.closed_early == 1
    [row] = await mesh.rows("select outcome, measured from engine.token_usage")
    assert (row["outcome"], row["measured"]) == ("failed", False)


async def test_g17_a_caller_that_leaves_does_not_lose_the_turn(mesh: MeshOfOne) -> None:
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Wait", pause, *says(" done.")]]))
    session, request = new_uuid(), new_uuid()
    call = engine.call(session, "Hi", request)
    await first(call)
    await pause.reached.wait()
    call.cancel()

    follower = engine.call(session, "Hi", request)
    await first(follower)
    pause.go_on.set()
    assert terminal(await rest(follower)) == ["committed"]

    [turn] = (await engine.turns(session)).turns
    assert (turn.state, turn.assistant_text) == (turn_pb2.TURN_STATE_COMMITTED, "Wait done.")


async def test_a_caller_that_never_reads_holds_nothing_up(mesh: MeshOfOne) -> None:
    size = 200_000
    engine = await mesh.engine(ScriptedModel([says(*["x" * 1000] * (size // 1000))]))
    session, request = new_uuid(), new_uuid()
    silent = engine.call(session, "Hi", request)
    await first(silent)

    events = await engine.converse(session, "Hi", request)

    assert len(answer(events)) == size
    assert terminal(events) == ["committed"]
    assert len(answer(await rest(silent))) == size


async def test_an_endless_answer_is_cut_at_its_limit(mesh: MeshOfOne) -> None:
    model = ScriptedModel([["x" * 100_000] * 3 + ["y"]])
    engine = await mesh.engine(model)
    session = new_uuid()

    events = await engine.converse(session)

    assert events[-1].committed.finish_reason == "length"
    assert len(answer(events)) == MAX_ANSWER_CHARS
    assert model.closed_early == 1
    assert len((await engine.turns(session)).turns[0].assistant_text) == MAX_ANSWER_CHARS


async def test_g12_what_cannot_be_stored_is_neither_streamed_nor_stored(mesh: MeshOfOne) -> None:
    engine = await mesh.engine(ScriptedModel([says("a\x00b", "\x00", "c\ud800d")]))
    session = new_uuid()

    events = await engine.converse(session)

    assert answer(events) == "abcd"
    assert (await engine.turns(session)).turns[0].assistant_text == "abcd"


async def test_memory_that_is_late_is_left_out_and_named(mesh: MeshOfOne) -> None:
    mesh.memory.recall_gate = asyncio.Event()
    mesh.limits = dataclasses.replace(mesh.limits, recall_budget_s=0.2)
    model = ScriptedModel()
    engine = await mesh.engine(model)

    events = await engine.converse(new_uuid())

    assert terminal(events) == ["committed"]
    [skipped] = events[1].context.skipped
    assert (skipped.arm, skipped.reason) == ("memory", "DEADLINE_EXCEEDED")
    assert "recalled_memory" not in model.requests[0].messages[-1].text
    assert mesh.memory.recall_budgets_s[0] <= 0.2
    [row] = await mesh.rows("select provenance from engine.turns")
    assert row["provenance"]["skipped"] == [{"arm": "memory", "reason": "DEADLINE_EXCEEDED"}]
    mesh.memory.recall_gate.set()


async def test_the_builtin_responder_waits_longer_for_memory_and_says_when_it_is_away(mesh: MeshOfOne) -> None:
    mesh.memory.recall_gate = asyncio.Event()
    mesh.limits = dataclasses.replace(mesh.limits, recall_budget_s=0.01, builtin_recall_budget_s=0.5)
    engine = await mesh.engine(GroundedResponder())

    events = await engine.converse(new_uuid(), text="Where do I live?")

    assert mesh.memory.recall_budgets_s[0] > 0.1
    assert answer(events).startswith("I can't reach my memory right now")
    mesh.memory.recall_gate.set()


async def test_memory_that_is_down_is_left_out_and_named(mesh: MeshOfOne) -> None:
    await mesh.memory.stop()
    mesh.limits = dataclasses.replace(mesh.limits, recall_budget_s=0.3)
    engine = await mesh.engine()

    events = await engine.converse(new_uuid())

    assert terminal(events) == ["committed"]
    [skipped] = events[1].context.skipped
    assert skipped.arm == "memory"
    assert skipped.reason in {"SERVICE_UNAVAILABLE", "DEADLINE_EXCEEDED"}


@pytest.mark.parametrize(
    "error",
    [
        Unavailable(Reason.DATABASE_UNAVAILABLE, "away"),
        FailedPrecondition(Reason.EMBEDDING_SPACE_MISMATCH, "wrong"),
        ResourceExhausted(Reason.OVERLOADED, "busy"),
    ],
    ids=lambda error: error.reason.value,
)
async def test_memory_that_refuses_is_left_out_with_its_reason(mesh: MeshOfOne, error: MeshError) -> None:
    mesh.memory.recall_error = error
    mesh.limits = dataclasses.replace(mesh.limits, recall_budget_s=2.0)
    engine = await mesh.engine()

    events = await engine.converse(new_uuid())

    assert terminal(events) == ["committed"]
    assert [skipped.reason for skipped in events[1].context.skipped] == [error.reason.value]


async def test_an_arm_that_memory_lacks_is_passed_on(mesh: MeshOfOne) -> None:
    mesh.memory.degraded = [DegradedArm(arm="vector", reason="EMBEDDER_UNAVAILABLE")]
    engine = await mesh.engine()

    events = await engine.converse(new_uuid())

    assert [(arm.arm, arm.reason) for arm in events[1].context.skipped] == [("vector", "EMBEDDER_UNAVAILABLE")]


async def test_what_only_repeats_memory_is_labelled_so(mesh: MeshOfOne) -> None:
    engine = await mesh.engine(ScriptedModel(provider="builtin", name="grounded"))

    events = await engine.converse(new_uuid())

    assert events[0].session_start.model.provider == "builtin"
    assert events[-1].committed.model.provider == "builtin"
    [item] = await mesh.rows("select payload from engine.outbox")
    assert b'"assistant_grounded": true' in bytes(item["payload"])
