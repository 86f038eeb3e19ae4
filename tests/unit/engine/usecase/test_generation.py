"""Events of a model become an answer and attempts to account for (G12, G18)."""

from __future__ import annotations

import asyncio

import pytest

from engine.domain.usage import Outcome
from engine.usecase.generation import Generation, storable
from engine.usecase.limits import MAX_ANSWER_CHARS
from mesh.kernel.errors import DeadlineExceeded, FailedPrecondition, MeshError, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.protocols import Finish, ModelMessage, ModelRequest, UsageReport
from tests.contract.engine.scripted_model import MEASURED, Pause, ScriptedModel, Step, says

REQUEST = ModelRequest("Instructions", [ModelMessage("user", "Hi")])
STALLED = DeadlineExceeded(Reason.MODEL_STALLED, "stalled")


def generation(script: list[Step]) -> tuple[Generation, list[str]]:
    pieces: list[str] = []
    return Generation(ScriptedModel([script]), REQUEST, pieces.append), pieces


async def test_what_is_streamed_is_what_is_answered() -> None:
    made, pieces = generation(says("a\x00", "", "b\ud83d"))

    answer = await made.run()

    assert "".join(pieces) == answer.text == "ab"
    assert (answer.finish_reason, answer.tokens.measured) == ("stop", True)


@pytest.mark.parametrize(("reason", "expected"), [("stop", "stop"), ("length", "length"), ("other", "stop")])
async def test_why_the_model_stopped_is_stop_or_length(reason: str, expected: str) -> None:
    made, _ = generation(["a", MEASURED, Finish(reason)])  # type: ignore[arg-type]

    assert (await made.run()).finish_reason == expected


async def test_an_answer_at_its_limit_is_cut_and_estimated() -> None:
    made, _ = generation(["x" * (MAX_ANSWER_CHARS - 1), "yz", "never"])

    answer = await made.run()

    assert answer.text.endswith("xy")
    assert (len(answer.text), answer.finish_reason, answer.tokens.measured) == (MAX_ANSWER_CHARS, "length", False)


async def test_an_answer_without_a_report_is_estimated() -> None:
    made, _ = generation(["four", Finish()])

    answer = await made.run()

    assert [(spent.outcome, spent.tokens.output_tokens, spent.tokens.measured) for spent in answer.attempts] == [
        (Outcome.FINISHED, 1, False)
    ]


async def test_g11_an_empty_answer_is_no_success() -> None:
    made, _ = generation([MEASURED, Finish()])

    with pytest.raises(Unavailable) as caught:
        await made.run()
    assert caught.value.reason is Reason.MODEL_OUTPUT_INVALID
    assert [spent.tokens.input_tokens for spent in made.attempts(Outcome.FAILED)] == [7]


@pytest.mark.parametrize(
    ("script", "measured"),
    [
        ([MEASURED, STALLED], [True]),
        (["text", MEASURED, STALLED], [True]),
        (["text", STALLED], [False]),
        ([STALLED], [False]),
        ([MEASURED, "text", STALLED], [True, False]),
        ([UsageReport(1, 0, measured=False), MEASURED, STALLED], [False, True]),
    ],
    ids=["reported", "reported with text", "text only", "nothing", "second attempt cut", "two attempts"],
)
async def test_g18_each_attempt_is_accounted_for_once_when_the_model_fails(
    script: list[Step], measured: list[bool]
) -> None:
    made, _ = generation(script)

    with pytest.raises(MeshError):
        await made.run()

    spent = made.attempts(Outcome.FAILED)
    assert [attempt.tokens.measured for attempt in spent] == measured
    assert [attempt.number for attempt in spent] == list(range(1, len(measured) + 1))
    assert {attempt.outcome for attempt in spent} == {Outcome.FAILED}


@pytest.mark.parametrize(
    "error",
    [
        ResourceExhausted(Reason.OVERLOADED, "our own bound"),
        FailedPrecondition(Reason.CONFIGURATION_INVALID, "no key"),
    ],
    ids=lambda error: error.reason.value,
)
async def test_g18_a_provider_that_was_never_asked_costs_nothing(error: MeshError) -> None:
    made, _ = generation([error])

    with pytest.raises(MeshError):
        await made.run()

    assert made.attempts(Outcome.FAILED) == []


async def test_g18_a_call_that_is_cut_off_is_estimated_and_closed() -> None:
    pause = Pause()
    model = ScriptedModel([["four", pause]])
    made = Generation(model, REQUEST, lambda _: None)
    running = asyncio.create_task(made.run())
    await pause.reached.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert model.closed_early == 1
    [spent] = made.attempts(Outcome.INTERRUPTED)
    assert (spent.outcome, spent.tokens.output_tokens, spent.tokens.measured) == (Outcome.INTERRUPTED, 1, False)
    assert spent.tokens.input_tokens > 0


def test_storable_leaves_everything_else_alone() -> None:
    text = "Привіт 👋🏽 \u202e\ufeff\t\r\n"

    assert storable(text) == text
