"""How a conversation looks: names in one column, sources that the answer repeats, nothing that steers the terminal."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from mesh.cli.chat_screen import JsonScreen, TextScreen
from mesh.cli.conversation import Avatar
from mesh.cli.output import console_on
from mesh.cli.turns import TurnResult

SESSION = "3f2a0000-0000-4000-8000-000000000001"
OTHER = "77aa0000-0000-4000-8000-000000000002"
MIA = Avatar("5f0c7a52-9d1e-4b6a-8a44-6d6961000001", "mia", "Mia")


def fact(key: str, value: str, session: str = OTHER, **more: Any) -> dict[str, Any]:
    return {
        "key": key,
        "value": value,
        "subject": "user",
        "observeTime": "2026-12-01T12:00:00Z",
        "source": {"sessionId": session},
        **more,
    }


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def screen(out: io.StringIO) -> TextScreen:
    screen = TextScreen(MIA, echo=True, console=console_on(out))
    screen.opened(SESSION)
    out.seek(0)
    out.truncate()
    return screen


def result(text: str, facts: list[dict[str, Any]], chunks: list[dict[str, Any]] | None = None) -> TurnResult:
    context = {"facts": [{"fact": item} for item in facts], "chunks": [{"chunk": item} for item in chunks or []]}
    return TurnResult(turn_id="t", text=text, context=context)


def test_names_stand_in_one_column(screen: TextScreen, out: io.StringIO) -> None:
    screen.said("Hello")
    view = screen.answering()
    view.text("Good\nmorning")
    view.ended()
    assert out.getvalue().splitlines() == ["you  ▸ Hello", "Mia  ▸ Good", "       morning"]


def test_sources_are_the_recalled_facts_that_the_answer_repeats(screen: TextScreen, out: io.StringIO) -> None:
    facts = [fact("home_city", "Lviv"), fact("allergy", "peanuts"), fact("pet_dog", "Biscuit", SESSION)]
    screen.answered(result("You can't eat Peanuts, and Biscuit can't either.", facts), [])
    assert out.getvalue().strip() == (
        "from: allergy = peanuts (session 77aa, 1 December 2026) · pet_dog = Biscuit (this session, 1 December 2026)"
    )


def test_without_such_facts_the_best_evidence_is_the_source(screen: TextScreen, out: io.StringIO) -> None:
    chunks = [{"text": "x" * 200, "sentTime": "2026-12-01T12:00:00Z"}, {"text": "second"}]
    screen.answered(result("Yes.", [fact("home_city", "Lviv")], chunks), [])
    assert out.getvalue().strip() == f"from: “{'x' * 69}…” (1 December 2026)"


def test_what_was_learned_names_whom_it_is_about(screen: TextScreen, out: io.StringIO) -> None:
    screen.answered(result("Noted.", []), [fact("home_city", "Lviv"), fact("name", "Daryna", subject="user.sister")])
    assert out.getvalue().strip() == "learned: home_city = Lviv · sister name = Daryna"


def test_an_arm_that_was_left_out_is_named(screen: TextScreen, out: io.StringIO) -> None:
    screen.answered(TurnResult(context={"skipped": [{"arm": "memory", "reason": "DEADLINE_EXCEEDED"}]}), [])
    assert out.getvalue().strip() == "without memory (DEADLINE_EXCEEDED)"


def test_reasons_show_each_part_of_a_score(screen: TextScreen, out: io.StringIO) -> None:
    parts = [
        {"arm": "vector", "value": 0.41, "contribution": 0.1},
        {"arm": "topic_key", "value": 1, "contribution": 0.9},
    ]
    screen.why({"results": [{"fact": fact("allergy", "peanuts"), "score": 1.0, "parts": parts}]})
    assert [line.split() for line in out.getvalue().splitlines()] == [
        ["allergy", "=", "peanuts", "score", "1.00"],
        ["vector", "0.41", "adds", "+0.10"],
        ["topic_key", "1.00", "adds", "+0.90"],
    ]


def test_a_remembered_text_cannot_steer_the_terminal(screen: TextScreen, out: io.StringIO) -> None:
    screen.facts([fact("name", "\x1b[2J[red]Olena[/]")])
    assert "\x1b" not in out.getvalue()
    assert "[red]Olena[/]" in out.getvalue()


def test_json_has_the_answer_and_what_was_learned(capsys: pytest.CaptureFixture[str]) -> None:
    screen = JsonScreen()
    screen.said("Hello")
    screen.answered(result("Hi.", []), [fact("name", "Olena")])
    line = json.loads(capsys.readouterr().out)
    assert (line["text"], line["answer"], line["learned"][0]["value"]) == ("Hello", "Hi.", "Olena")
