"""The grounded responder with any text in any place: it answers, within its bounds, and never fails."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.models.builtin import MAX_ANSWER_CHARS, GroundedResponder, compose
from mesh.models.phrasing.second_person import second_person
from mesh.models.protocols import Finish, ModelMessage, ModelRequest, RecalledItem, TextDelta

ODD = st.sampled_from(
    ["\0", "\ud800", "\U0001f642 привіт", "مرحبا بالعالم", "你好。", "<a>\n", "</a>", '“”"«»', "Я живу у Львові?"]
)
TEXT = st.one_of(st.text(max_size=200), ODD, st.lists(ODD, max_size=5).map("".join))
INSTANT = st.one_of(st.none(), st.datetimes(timezones=st.just(UTC)), st.datetimes())
ITEM = st.builds(
    RecalledItem,
    kind=st.sampled_from(["fact", "chunk", "document"]),
    id=st.just("id"),
    text=TEXT,
    key=st.one_of(st.sampled_from(["allergy", "home_city", "pet_dog", "favorite_x", "plan", ""]), TEXT),
    value=TEXT,
    subject=st.one_of(st.sampled_from(["user", "user.sister", "user.friend.mark", "", "."]), TEXT),
    at=INSTANT,
    source=TEXT,
    speaker=st.one_of(st.sampled_from(["user", "assistant", ""]), TEXT),
    score=st.floats(allow_nan=True),
)
QUESTION = st.one_of(
    TEXT, st.sampled_from(["What do you know about me?", "Де я живу?", "hi", "what can I eat?", "I'm Bob"])
)


@settings(max_examples=100)
@given(st.lists(st.builds(ModelMessage, st.sampled_from(["user", "assistant"]), TEXT), max_size=3), QUESTION,
       st.lists(ITEM, max_size=8), TEXT, INSTANT)  # fmt: skip
def test_any_request_is_answered(
    history: list[ModelMessage], message: str, recalled: list[RecalledItem], zone: str, now: datetime | None
) -> None:
    asked = ModelRequest(zone, [*history, ModelMessage("user", message)], recalled, zone=zone, now=now)
    said = compose(asked)
    assert 0 < len(said) <= MAX_ANSWER_CHARS
    assert "\0" not in said
    said.encode("utf-8")


@given(QUESTION, st.lists(ITEM, max_size=4), st.one_of(st.none(), st.integers(min_value=1, max_value=200)))
async def test_any_stream_ends_with_finish(message: str, recalled: list[RecalledItem], limit: int | None) -> None:
    asked = ModelRequest("", [ModelMessage("user", message)], recalled, max_output_tokens=limit)
    events = [event async for event in GroundedResponder().stream(asked)]
    assert isinstance(events[-1], Finish)
    assert all(event.text for event in events if isinstance(event, TextDelta))


@given(st.text(max_size=300))
def test_any_sentence_is_turned_or_left(sentence: str) -> None:
    turned = second_person(sentence)
    assert turned == "" or "\n" not in turned


def test_a_request_without_messages_is_answered() -> None:
    assert compose(ModelRequest("", []))
