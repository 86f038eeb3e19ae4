"""JSON of messages: what a caller reads, what is understood, and that both are protobuf's own JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.http import protojson
from gateway.http.jsonread import merge, set_texts
from gateway.http.jsontext import parse_json
from mesh.kernel.errors import InvalidArgument
from mesh.kernel.reasons import Reason
from mnemesh.gateway.v1 import session_pb2
from tests.unit.gateway.http.kinds import Every

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
I32 = st.integers(-(2**31), 2**31 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)
U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "flag": st.booleans(),
    "blob": st.binary(max_size=20),
    "int_32": I32,
    "int_64": I64,
    "uint_32": U32,
    "uint_64": U64,
    "sint_64": I64,
    "fixed_32": U32,
    "real": st.floats(allow_nan=False),
    "small_real": st.floats(width=32, allow_nan=False),
}


@st.composite
def every(draw: st.DrawFn, depth: int = 1) -> Any:
    message = Every()
    fill_scalars(draw, message)
    if draw(st.booleans()):
        fill_well_known(draw, message)
    match draw(st.integers(0, 2)):
        case 1:
            message.left = draw(TEXT)
        case 2:
            message.right = draw(I32)
    message.by_name.update(draw(st.dictionaries(TEXT, I64, max_size=2)))
    message.by_number.update(draw(st.dictionaries(I32, TEXT, max_size=2)))
    if depth:
        message.child.CopyFrom(draw(every(depth - 1)))
        for _ in range(draw(st.integers(0, 2))):
            message.children.add().CopyFrom(draw(every(depth - 1)))
    return message


def fill_scalars(draw: st.DrawFn, message: Any) -> None:
    for name, values in SCALARS.items():
        if draw(st.booleans()):
            setattr(message, name, draw(values))
        getattr(message, f"many_{name}").extend(draw(st.lists(values, max_size=2)))
    message.colour = draw(st.sampled_from([0, 1, 2, 7]))
    message.many_colour.extend(draw(st.lists(st.sampled_from([0, 1, 2]), max_size=3)))
    if draw(st.booleans()):
        message.perhaps = draw(I32)


def fill_well_known(draw: st.DrawFn, message: Any) -> None:
    message.at.FromDatetime(draw(st.datetimes()))
    message.lasting.FromTimedelta(draw(st.timedeltas(timedelta(-9999), timedelta(9999))))
    message.free.update(draw(st.dictionaries(TEXT, st.one_of(st.none(), st.booleans(), TEXT), max_size=3)))
    message.anything.string_value = draw(TEXT)
    message.maybe_text.value = draw(TEXT)


@settings(max_examples=60, deadline=None)
@given(every())
def test_what_is_written_is_protobufs_own_json(message: Any) -> None:
    written = json.loads(protojson.to_bytes(message))
    theirs = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    theirs = json.loads(json.dumps(theirs))
    assert _without_levels(written) == _without_levels(theirs)


@settings(max_examples=60, deadline=None)
@given(every())
def test_what_is_written_is_read_back_as_the_same_message(message: Any) -> None:
    read = Every()
    merge(read, parse_json(protojson.to_bytes(message)))
    assert read.SerializeToString(deterministic=True) == message.SerializeToString(deterministic=True)


def error_of(work: Callable[[], object]) -> InvalidArgument | None:
    try:
        work()
    except InvalidArgument as error:
        return error
    return None


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([field.json_name for field in Every.DESCRIPTOR.fields]), JSON_VALUES)
def test_any_json_is_read_or_refused_with_a_field(name: str, value: Any) -> None:
    message = Every()
    refused = error_of(lambda: merge(message, {name: value}))
    if refused is None:
        message.SerializeToString()
    else:
        assert refused.details.violations[0].field.startswith(name)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_refused(body: bytes) -> None:
    refused = error_of(lambda: parse_json(body))
    assert refused is None or refused.reason in {Reason.MALFORMED_MESSAGE, Reason.TEXT_NOT_STORABLE}


def test_fields_without_presence_are_always_written_and_enums_lose_their_prefix() -> None:
    value = protojson.to_value(session_pb2.Session(id="x", status=session_pb2.SESSION_STATUS_ACTIVE))
    assert value == {
        "id": "x",
        "avatarId": "",
        "name": "",
        "description": "",
        "status": "ACTIVE",
        "etag": "",
    }


@pytest.mark.parametrize("name", ["HIGH", "ALERT_LEVEL_HIGH", 1])
def test_an_enum_is_read_with_and_without_its_prefix_and_as_a_number(name: object) -> None:
    message = Every()
    merge(message, {"level": name})
    assert message.level == 1


def test_fields_are_read_under_both_names() -> None:
    message = Every()
    merge(message, {"int32": 1, "uint_32": 2, "manyText": ["a"]})
    assert (message.int_32, message.uint_32, list(message.many_text)) == (1, 2, ["a"])


def test_numbers_are_read_from_text_and_from_whole_floats() -> None:
    message = Every()
    merge(message, {"int64": "-9007199254740993", "uint32": 5.0, "real": "1.5e3", "smallReal": "NaN"})
    assert message.int_64 == -9007199254740993
    assert message.uint_32 == 5
    assert message.real == 1500
    assert math.isnan(message.small_real)


def test_null_is_an_absent_field() -> None:
    message = Every()
    merge(message, {"text": None, "child": None, "manyText": None})
    assert message == Every()


@pytest.mark.parametrize(
    ("value", "field", "rule"),
    [
        ({"nme": "x"}, "nme", "UNKNOWN_FIELD"),
        ({"child": {"children": [{}, {"zzz": 1}]}}, "child.children[1].zzz", "UNKNOWN_FIELD"),
        ({"text": 5}, "text", "TYPE"),
        ({"flag": "true"}, "flag", "TYPE"),
        ({"int32": 1.5}, "int32", "TYPE"),
        ({"int32": True}, "int32", "TYPE"),
        ({"int32": 2**31}, "int32", "RANGE"),
        ({"uint64": -1}, "uint64", "RANGE"),
        ({"smallReal": 1e39}, "smallReal", "RANGE"),
        ({"manyText": "a"}, "manyText", "TYPE"),
        ({"manyText": ["a", None]}, "manyText[1]", "TYPE"),
        ({"byName": {"a": "x"}}, 'byName["a"]', "TYPE"),
        ({"byNumber": {"a": "x"}}, 'byNumber["a"]', "TYPE"),
        ({"colour": "PINK"}, "colour", "ENUM"),
        ({"blob": "!!"}, "blob", "TYPE"),
        ({"at": "yesterday"}, "at", "TYPE"),
        ({"lasting": 5}, "lasting", "TYPE"),
        ({"mask": ["a"]}, "mask", "TYPE"),
        ({"mask": "a b"}, "mask", "TYPE"),
        ({"child": []}, "child", "TYPE"),
        ({"left": "a", "right": 1}, "right", "ONEOF"),
        ({"int32": 1, "int_32": 2}, "int_32", "DUPLICATE"),
    ],
)
def test_a_wrong_field_is_refused_by_name(value: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        merge(Every(), value)
    violation = refused.value.details.violations[0]
    assert (violation.field, violation.reason) == (field, rule)


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        (b"[]", Reason.MALFORMED_MESSAGE, None),
        (b"{", Reason.MALFORMED_MESSAGE, None),
        (b'{"a":NaN}', Reason.MALFORMED_MESSAGE, None),
        (b'{"a":"\xff"}', Reason.MALFORMED_MESSAGE, None),
        (b"[" * 100_000, Reason.MALFORMED_MESSAGE, None),
        (b'{"text":"\\ud800"}', Reason.TEXT_NOT_STORABLE, "text"),
        (b'{"a":[{"b":"x\\udc00y"}]}', Reason.TEXT_NOT_STORABLE, "a[0].b"),
        (b'{"\\ud800":1}', Reason.TEXT_NOT_STORABLE, "\ufffd"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_its_place(body: bytes, reason: Reason, field: str | None) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_json(body)
    assert refused.value.reason is reason
    assert [one.field for one in refused.value.details.violations] == ([field] if field else [])
    refused.value.message.encode()


def test_an_empty_body_is_an_empty_object() -> None:
    assert parse_json(b"") == {}


def test_texts_fill_nested_and_repeated_fields() -> None:
    message = Every()
    set_texts(message, "child.int32", ["7"])
    set_texts(message, "many_colour", ["RED", "2"])
    set_texts(message, "flag", ["true"])
    set_texts(message, "at", ["2026-12-01T09:30:00+02:00"])
    set_texts(message, "mask", ["displayName,child.intThing"])
    assert message.child.int_32 == 7
    assert list(message.many_colour) == [1, 2]
    assert message.flag
    assert message.at.ToJsonString() == "2026-12-01T07:30:00Z"
    assert list(message.mask.paths) == ["display_name", "child.int_thing"]


@pytest.mark.parametrize("path", ["child", "byName", "children.text", "at.seconds", "nope", "child.nope", "text.x", ""])
def test_texts_do_not_fill_what_is_no_single_value(path: str) -> None:
    with pytest.raises(InvalidArgument):
        set_texts(Every(), path, ["1"])


def test_a_single_field_takes_one_text() -> None:
    with pytest.raises(InvalidArgument, match="twice"):
        set_texts(Every(), "text", ["a", "b"])


def _without_levels(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_levels(item) for name, item in value.items() if name != "level"}
    return [_without_levels(item) for item in value] if isinstance(value, list) else value
