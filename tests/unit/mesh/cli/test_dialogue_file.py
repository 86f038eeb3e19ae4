"""Dialogues as JSON Lines: what is accepted, and that every error names its line."""

from __future__ import annotations

import json

import pytest

from mesh.cli.dialogue_file import batches, read_lines
from mesh.cli.problems import ExitCode, Problem

GOOD = {"source_id": "m1", "text": "I moved to Lviv.", "sent_time": "2026-03-02T18:40:00Z"}


def read(*objects: object) -> list[dict[str, object]]:
    lines = [item if isinstance(item, str) else json.dumps(item) for item in objects]
    return [dict(line.message) for line in read_lines(lines, "talk.jsonl")]


def test_names_may_be_those_of_the_file_or_of_http() -> None:
    camel = {"sourceId": "m2", "text": "Hi", "sentTime": "2026-03-02T18:40:00+02:00", "imageCaption": "a dog"}
    first, second = read(GOOD, camel)
    assert first == {"sourceId": "m1", "text": "I moved to Lviv.", "sentTime": "2026-03-02T18:40:00+00:00"}
    assert second["sentTime"] == "2026-03-02T18:40:00+02:00"
    assert second["imageCaption"] == "a dog"


def test_a_time_without_an_offset_is_utc() -> None:
    assert read({**GOOD, "sent_time": "2026-03-02 18:40"})[0]["sentTime"] == "2026-03-02T18:40:00+00:00"


def test_directions_are_plain_words() -> None:
    assert read({**GOOD, "direction": "incoming"})[0]["direction"] == "MESSAGE_DIRECTION_INCOMING"


def test_empty_lines_are_skipped_and_still_counted() -> None:
    lines = list(read_lines(["", json.dumps(GOOD), "  \n", json.dumps({**GOOD, "source_id": "m2"})], "talk.jsonl"))
    assert [line.number for line in lines] == [2, 4]


def test_a_session_number_is_taken_as_text() -> None:
    assert read({**GOOD, "session": 3})[0]["session"] == "3"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ({**GOOD, "text": ""}, "text is missing"),
        ({"text": "x", "sent_time": "2026-01-01"}, "source_id is missing"),
        ({**GOOD, "sent_time": "yesterday"}, "'yesterday' is not a time"),
        ({**GOOD, "mood": "fine"}, "unknown field 'mood'"),
        ({**GOOD, "text": ["x"]}, "text must be a text"),
        ({**GOOD, "direction": "sideways"}, "direction 'sideways' is unknown"),
    ],
)
def test_a_wrong_line_is_named(line: object, says: str) -> None:
    with pytest.raises(Problem) as caught:
        read({**GOOD, "source_id": "first"}, line)
    assert says in str(caught.value)
    assert "talk.jsonl:2" in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_source_id_that_is_used_again_names_both_lines() -> None:
    with pytest.raises(Problem, match=r"talk\.jsonl:3.*line 1"):
        read(GOOD, {**GOOD, "source_id": "m2"}, GOOD)


def test_batches_keep_order_and_lose_nothing() -> None:
    lines = list(read_lines([json.dumps({**GOOD, "source_id": f"m{n}"}) for n in range(7)], "talk.jsonl"))
    cut = list(batches(lines, 3))
    assert [len(batch) for batch in cut] == [3, 3, 1]
    assert [line for batch in cut for line in batch] == lines
