"""One message over a network that fails: it is sent again with its id, and no word is shown twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest

from mesh.cli import turns
from mesh.cli.http_client import ClientOptions, MeshClient, Refused, Transient
from mesh.cli.problems import Problem
from mesh.cli.turns import Message, SilentView, run_turn

MESSAGE = Message("5a4c8c5e-9a3b-4d57-8d4e-0f6a5d1c2b3a", "Where do I live?", "7f1d9a52-0c1e-4b6a-8a44-6d6961000009")
START = {"sessionStart": {"turnId": "t"}}
COMMITTED = {"committed": {"turnId": "t", "seq": "1"}}

Answer = Callable[[], httpx.Response]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "FIRST_PAUSE_S", 0.0)


class Recorder(SilentView):
    def __init__(self) -> None:
        self.shown = ""
        self.restarts = 0
        self.problems: list[str] = []

    def text(self, piece: str) -> None:
        self.shown += piece

    def restart(self) -> None:
        self.restarts += 1
        self.shown = ""

    def waiting(self, problem: Transient) -> None:
        self.problems.append(problem.message)


class Wire:
    """Gives one answer after the other and keeps what was sent."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.bodies: list[Mapping[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        return self._answers.pop(0)()


def delta(text: str) -> dict[str, Any]:
    return {"delta": {"text": text}}


def stream(*events: Mapping[str, Any], broken: bool = False) -> Answer:
    def body() -> Iterator[bytes]:
        for event in events:
            yield f"event: {next(iter(event))}\ndata: {json.dumps(event)}\n\n".encode()
        if broken:
            raise httpx.ReadError("connection reset")

    return lambda: httpx.Response(200, content=body(), headers={"Content-Type": "text/event-stream"})


def problem(status: int, reason: str, **headers: str) -> Answer:
    document = {"title": "No", "detail": "it does not work", "status": status, "reason": reason}
    return lambda: httpx.Response(status, json=document, headers=headers)


def run(*answers: Answer) -> tuple[turns.TurnResult, Recorder, Wire]:
    wire, view = Wire(*answers), Recorder()
    with MeshClient(ClientOptions("http://mesh"), httpx.MockTransport(wire)) as client:
        return run_turn(client, MESSAGE, view, patience_s=5), view, wire


def test_the_answer_is_the_deltas_in_order() -> None:
    result, view, _ = run(stream(START, delta("You live "), delta("in Lviv."), COMMITTED))
    assert result.text == view.shown == "You live in Lviv."
    assert result.turn_id == "t"
    assert result.attempts == 1


def test_a_broken_stream_is_resumed_with_the_same_request_id_and_no_word_twice() -> None:
    result, view, wire = run(
        stream(START, delta("You live "), broken=True),
        stream(START, delta("You "), delta("live "), delta("in Lviv."), COMMITTED),
    )
    assert view.shown == result.text == "You live in Lviv."
    assert view.restarts == 0
    assert [body["requestId"] for body in wire.bodies] == [MESSAGE.request_id] * 2


def test_an_answer_in_other_words_begins_anew() -> None:
    result, view, _ = run(
        stream(START, delta("I think "), broken=True), stream(START, delta("You live in Lviv."), COMMITTED)
    )
    assert view.restarts == 1
    assert view.shown == result.text == "You live in Lviv."


@pytest.mark.parametrize(
    "first",
    [
        stream(START, delta("You")),
        stream(START, {"error": {"reason": "MODEL_STALLED", "message": "The model is silent.", "retryable": True}}),
        problem(503, "DATABASE_UNAVAILABLE"),
        problem(409, "TURN_IN_PROGRESS"),
        problem(429, "OVERLOADED"),
        lambda: httpx.Response(502, text="bad gateway"),
    ],
    ids=["ends early", "retryable error", "503", "turn in progress", "429", "proxy"],
)
def test_what_may_pass_is_tried_again(first: Answer) -> None:
    result, view, _ = run(first, stream(START, delta("You live in Lviv."), COMMITTED))
    assert result.attempts == 2
    assert view.shown == "You live in Lviv."
    assert len(view.problems) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (problem(404, "SESSION_NOT_FOUND"), "SESSION_NOT_FOUND"),
        (stream(START, {"error": {"reason": "MODEL_REFUSED", "message": "No.", "retryable": False}}), "MODEL_REFUSED"),
    ],
)
def test_what_cannot_succeed_is_not_tried_again(answer: Answer, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        run(answer)
    assert caught.value.reason == reason


def test_patience_ends() -> None:
    wire = Wire(*[problem(503, "DATABASE_UNAVAILABLE", **{"Retry-After": "60"})] * 3)
    with (
        MeshClient(ClientOptions("http://mesh"), httpx.MockTransport(wire)) as client,
        pytest.raises(Transient),
    ):
        run_turn(client, MESSAGE, Recorder(), patience_s=5)
    assert len(wire.bodies) == 1


def test_a_server_that_is_no_mesh_is_named() -> None:
    def html(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="<html>")

    with (
        MeshClient(ClientOptions("http://mesh"), httpx.MockTransport(html)) as client,
        pytest.raises(Problem, match="is not a mesh"),
    ):
        client.get("/v1/avatars")
