"""G11: whatever a model writes gives either the right facts or a retryable failure, never an empty success."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.model_json import MAX_REPLY_CHARS, read_object

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "key": {"type": "string", "minLength": 1},
                    "value": {"type": "string"},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                },
                "required": ["key", "value"],
            },
        },
    },
    "required": ["facts"],
}

CITY = {"key": "home_city", "value": "Lviv"}
DOG = {"key": "pet_dog", "value": "Biscuit"}
GOOD = '{"facts": [{"key": "home_city", "value": "Lviv"}, {"key": "pet_dog", "value": "Biscuit"}]}'
ONE = '{"facts": [{"key": "home_city", "value": "Lviv"}]}'

READABLE: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "plain": (GOOD, [CITY, DOG]),
    "nothing_to_learn": ('{"facts": []}', []),
    "fence": (f"```json\n{GOOD}\n```", [CITY, DOG]),
    "fence_without_language": (f"```\n{GOOD}\n```", [CITY, DOG]),
    "fence_not_closed": (f"```json\n{GOOD}", [CITY, DOG]),
    "prose_before": (f"Sure! Here are the facts I found:\n\n{GOOD}", [CITY, DOG]),
    "prose_after": (f"{GOOD}\n\nLet me know if you need {{more}} [details].", [CITY, DOG]),
    "prose_and_fence": (f"Of course.\n```json\n{GOOD}\n```\nHope that helps!", [CITY, DOG]),
    "prose_with_brackets_before": (f"As asked [1] in {{this}} format: {GOOD}", [CITY, DOG]),
    "thinking_before": (f'<think>maybe {{"facts": []}}?</think>\n{GOOD}', [CITY, DOG]),
    "byte_order_mark": (f"\ufeff{GOOD}", [CITY, DOG]),
    "trailing_comma_in_array": ('{"facts": [{"key": "home_city", "value": "Lviv"},]}', [CITY]),
    "trailing_comma_in_object": ('{"facts": [{"key": "home_city", "value": "Lviv",}],}', [CITY]),
    "two_commas": ('{"facts": [{"key": "home_city",, "value": "Lviv"}]}', [CITY]),
    "trailing_brackets": (f"{GOOD}}}}}]]", [CITY, DOG]),
    "bracket_forgotten": ('{"facts": [{"key": "home_city", "value": "Lviv"}}', [CITY]),
    "wrong_bracket": ('{"facts": [{"key": "home_city", "value": "Lviv"]]}', [CITY]),
    "truncated_in_item": ('{"facts": [{"key": "home_city", "value": "Lviv"}, {"key": "pet_dog", "val', [CITY]),
    "truncated_in_value": (
        '{"facts": [{"key": "home_city", "value": "Lviv"}, {"key": "pet_dog", "value": "Bisc',
        [CITY],
    ),
    "truncated_after_member": (
        '{"facts": [{"key": "home_city", "value": "Lviv"}, {"key": "job", "value": "x", ',
        [CITY],
    ),
    "truncated_after_comma": ('{"facts": [{"key": "home_city", "value": "Lviv"},', [CITY]),
    "truncated_after_items": ('{"facts": [{"key": "home_city", "value": "Lviv"}', [CITY]),
    "truncated_in_escape": ('{"facts": [{"key": "home_city", "value": "Lviv"}, {"key": "k", "value": "\\u00', [CITY]),
    "truncated_in_fence": ('```json\n{"facts": [{"key": "home_city", "value": "Lviv"}, {"key"\n', [CITY]),
    "abbreviated": ('{"facts": [{"key": "home_city", "value": "Lviv"}, ...]}', [CITY]),
    "nul_raw": ('{"facts": [{"key": "home\x00_city", "value": "Lviv"}]}', [CITY]),
    "nul_escaped": ('{"facts": [{"key": "home_city", "value": "Lv\\u0000iv"}]}', [CITY]),
    "raw_newline_in_string": ('{"facts": [{"key": "k", "value": "a\nb"}]}', [{"key": "k", "value": "a\nb"}]),
    "surrogate_pair": ('{"facts": [{"key": "k", "value": "\\ud83d\\ude00"}]}', [{"key": "k", "value": "😀"}]),
    "half_a_surrogate_pair": ('{"facts": [{"key": "k", "value": "a\\ud83d"}]}', [{"key": "k", "value": "a\ufffd"}]),
    "unknown_escape": ('{"facts": [{"key": "home\\_city", "value": "Lviv"}]}', [CITY]),
    "single_quotes": ("{'facts': [{'key': 'home_city', 'value': 'Lviv'}]}", [CITY]),
    "unquoted_names": ('{facts: [{key: "home_city", value: "Lviv"}]}', [CITY]),
    "comments": ('{"facts": [ // found\n {"key": "home_city", /* where */ "value": "Lviv"}]}', [CITY]),
    "encoded_twice": (json.dumps(GOOD), [CITY, DOG]),
    "bare_list": ('[{"key": "home_city", "value": "Lviv"}]', [CITY]),
    "bare_list_in_fence": ('Here:\n```json\n[{"key": "home_city", "value": "Lviv"}]\n```', [CITY]),
    "empty_bare_list": ("```json\n[]\n```", []),
    "wrapped": (f'{{"result": {ONE}}}', [CITY]),
    "one_object_for_a_list": ('{"facts": {"key": "home_city", "value": "Lviv"}}', [CITY]),
    "number_for_a_string": ('{"facts": [{"key": "age", "value": 41}]}', [{"key": "age", "value": "41"}]),
    "string_for_a_number": (
        '{"facts": [{"key": "k", "value": "v", "confidence": "0.9"}]}',
        [{"key": "k", "value": "v", "confidence": 0.9}],
    ),
    "word_for_an_optional_number": (
        '{"facts": [{"key": "home_city", "value": "Lviv", "confidence": "high"}]}',
        [CITY],
    ),
    "unknown_members": ('{"facts": [{"key": "home_city", "value": "Lviv", "x": {"y": [1]}}], "note": "ok"}', [CITY]),
    "some_items_wrong": ('{"facts": [{"key": "home_city", "value": "Lviv"}, "and a dog", null]}', [CITY]),
    "said_twice_alike": (f"{ONE}\nTo repeat: {ONE}", [CITY]),
    "python_literals": ('{"facts": [{"key": "home_city", "value": "Lviv", "confidence": None}]}', [CITY]),
}

UNREADABLE: dict[str, str] = {
    "empty": "",
    "blank": " \n\t ",
    "prose": "I could not find any facts in this conversation.",
    "refusal": "I'm sorry, but I can't help with that request.",
    "null": "null",
    "number": "42",
    "string": '"none"',
    "empty_object": "{}",
    "other_object": '{"error": "rate limited"}',
    "html": "<html><body><h1>502 Bad Gateway</h1></body></html>",
    "schema_echoed": json.dumps(SCHEMA),
    "list_is_null": '{"facts": null}',
    "list_is_prose": '{"facts": "none found"}',
    "all_items_wrong": '{"facts": ["lives in Lviv", "has a dog"]}',
    "all_items_lack_a_member": '{"facts": [{"key": "home_city"}]}',
    "blank_key": '{"facts": [{"key": "", "value": "Lviv"}]}',
    "member_is_an_object": '{"facts": [{"key": "home_city", "value": {"city": "Lviv"}}]}',
    "truncated_at_once": '{"facts": [',
    "truncated_in_first_item": '{"facts": [{"key": "home_city", "value": "Lv',
    "truncated_in_name": '{"fac',
    "opening_bracket": "{",
    "abbreviated_to_nothing": '{"facts": [...]}',
    "comma_missing": '{"facts": [{"key": "home_city", "value": "Lviv"} {"key": "pet_dog", "value": "Biscuit"}]}',
    "quote_not_escaped": '{"facts": [{"key": "quote", "value": "he said "hi" to me"}]}',
    "two_different_answers": f'Draft: {{"facts": []}}\nFinal: {ONE}',
    "empty_list_in_prose": "There is nothing to report here: []",
    "fence_of_prose": "```json\nno facts\n```",
    "thinking_only": f"<think>{GOOD}",
    "not_a_number": '{"facts": [{"key": "k", "value": NaN}]}',
    "too_deep": '{"facts": ' + "[" * 500 + "]" * 500 + "}",
    "too_long": '{"facts": [], "x": "' + "a" * MAX_REPLY_CHARS + '"}',
    "binary": "\x00\x01\x02\ufffd\ufffd",
}


@pytest.mark.parametrize("name", READABLE)
def test_reply_with_one_meaning_gives_its_facts(name: str) -> None:
    reply, facts = READABLE[name]
    assert read_object(reply, SCHEMA).value == {"facts": facts}


@pytest.mark.parametrize("name", UNREADABLE)
def test_reply_without_one_meaning_is_a_retryable_failure(name: str) -> None:
    with pytest.raises(Unavailable) as caught:
        read_object(UNREADABLE[name], SCHEMA)
    assert caught.value.reason is Reason.MODEL_OUTPUT_INVALID
    assert "Lviv" not in caught.value.message


def test_corpus_has_at_least_forty_malformed_replies() -> None:
    assert len(UNREADABLE) + len(READABLE) - 2 >= 40


@pytest.mark.parametrize("name", ["truncated_in_item", "abbreviated", "some_items_wrong"])
def test_reading_says_when_items_were_lost(name: str) -> None:
    assert not read_object(READABLE[name][0], SCHEMA).whole
    assert read_object(GOOD, SCHEMA).whole


@given(cut=st.integers(min_value=1, max_value=len(GOOD) - 1))
def test_reply_cut_anywhere_never_invents_or_empties(cut: int) -> None:
    try:
        facts = read_object(GOOD[:cut], SCHEMA).value["facts"]
    except Unavailable:
        return
    assert facts in ([CITY], [CITY, DOG])


@settings(max_examples=200)
@given(st.text(alphabet="{}[]\",:\\ \n'key value1truefalsnull./*`", max_size=60))
def test_any_text_is_read_or_refused_with_the_one_reason(reply: str) -> None:
    outcome: object = None
    try:
        read_object(reply, SCHEMA)
    except Unavailable as error:
        outcome = error.reason
    assert outcome in (None, Reason.MODEL_OUTPUT_INVALID)


@given(st.lists(st.fixed_dictionaries({"key": st.text(min_size=1), "value": st.text()}), max_size=4))
def test_strict_json_is_read_as_it_is_but_for_nul(items: list[dict[str, str]]) -> None:
    clean = [{name: text.replace("\x00", "") for name, text in item.items()} for item in items]
    if any(not item["key"] for item in clean):
        return
    assert read_object(json.dumps({"facts": items}), SCHEMA).value == {"facts": clean}


def test_object_without_lists_must_be_whole() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "topic": {"type": "string"}}}
    assert read_object('{"title": "A walk"}', schema).value == {"title": "A walk"}
    with pytest.raises(Unavailable):
        read_object('{"title": "A walk", "topic": "dog', schema)


@pytest.mark.parametrize(
    ("schema", "value", "fitted"),
    [
        ({"type": "integer"}, "3", 3),
        ({"type": "integer"}, 3.0, 3),
        ({"type": ["string", "null"]}, None, None),
        ({"type": "boolean"}, "True", True),
        ({"type": "string", "enum": ["add", "drop"]}, " ADD ", "add"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x", "x"),
        ({"type": "array", "items": {"type": "string"}}, "one", ["one"]),
    ],
)
def test_value_of_another_type_with_one_meaning_is_converted(schema: object, value: object, fitted: object) -> None:
    root = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    assert read_object(json.dumps({"x": value}), root).value == {"x": fitted}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 3.5),
        ({"type": "integer"}, True),
        ({"type": "number", "maximum": 1}, 95),
        ({"type": "string"}, None),
        ({"type": "string"}, True),
        ({"type": "string", "maxLength": 3}, "four"),
        ({"type": "string", "enum": ["add", "drop"]}, "keep"),
        ({"type": "boolean"}, "yes"),
        ({"type": "object"}, []),
    ],
)
def test_value_of_another_meaning_is_refused(schema: object, value: object) -> None:
    root = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    with pytest.raises(Unavailable):
        read_object(json.dumps({"x": value}), root)
