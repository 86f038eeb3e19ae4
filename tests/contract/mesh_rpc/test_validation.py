"""Requests that break their contract, over a real connection."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mesh.kernel.errors import InvalidArgument, ResourceExhausted
from mesh.kernel.ids import new_id
from mesh.kernel.reasons import Reason
from mesh.rpc.context import current_call
from mesh.rpc.status import from_rpc_error
from mesh.rpc.text import TextRule
from mesh.rpc.validate import RequestReader
from tests.contract.mesh_rpc.echo import EchoServicer, pb, serving, stubs

stubs()


async def refused(call: Any) -> InvalidArgument:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = from_rpc_error(caught.value)
    assert isinstance(error, InvalidArgument)
    return error


def _fields(error: InvalidArgument) -> list[str]:
    return [violation.field for violation in error.details.violations]


async def test_every_broken_rule_is_named_with_its_path() -> None:
    request = pb().SayRequest(
        text="x" * 1001,
        request_id="no-uuid",
        parts=[pb().Part(name="fine"), pb().Part(name="y" * 11, size=-1)],
        named={"a b": pb().Part(size=-2)},
    )
    async with serving() as echo:
        error = await refused(echo.stub.Say(request))
    assert error.reason is Reason.INVALID_REQUEST
    assert set(_fields(error)) == {"text", "request_id", "parts[1].name", "parts[1].size", 'named["a b"].size'}
    rules = {violation.field: violation.reason for violation in error.details.violations}
    assert (rules["text"], rules["request_id"], rules["parts[1].size"]) == (
        "STRING_MAX_LEN",
        "STRING_UUID",
        "INT64_GTE",
    )
    assert error.message.startswith("text: ")


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"text": "a\0b"}, "text"),
        ({"text": "\0"}, "text"),
        ({"words": ["fine", "\0"]}, "words[1]"),
        ({"parts": [{"name": "x"}, {"name": "a\0"}]}, "parts[1].name"),
        ({"labels": {"good": "b\0d"}}, 'labels["good"]'),
        ({"labels": {"b\0d": "good"}}, "labels[key]"),
        ({"numbered": {7: "\0"}}, "numbered[7]"),
        ({"named": {"k": {"name": "\0"}}}, 'named["k"].name'),
        ({"tree": {"left": {"left": {"name": "\0"}}}}, "tree.left.left.name"),
        ({"tree": {"children": [{}, {"children": [{"name": "\0"}]}]}}, "tree.children[1].children[0].name"),
    ],
)
async def test_nul_character_is_found_wherever_text_is(request_: dict[str, Any], field: str) -> None:
    async with serving() as echo:
        error = await refused(echo.stub.Say(pb().SayRequest(**request_)))
    assert (error.reason, _fields(error)) == (Reason.TEXT_NOT_STORABLE, [field])


async def test_zero_bytes_that_are_no_text_are_fine() -> None:
    request = pb().SayRequest(text="ok", blob=b"\0\0", vector=[0.0, 1.0], words=["", "a"], numbered={0: ""})
    async with serving() as echo:
        assert (await echo.stub.Say(request)).text == "ok"


@given(st.lists(st.text(max_size=5), max_size=4), st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3))
def test_text_rule_finds_exactly_the_texts_with_nul(words: list[str], labels: dict[str, str]) -> None:
    found = TextRule().broken_fields(pb().SayRequest(words=words, labels=labels))
    bad_labels = sum("\0" in key or "\0" in value for key, value in labels.items())
    assert len(found) == sum("\0" in word for word in words) + bad_labels


@given(st.text(max_size=20))
def test_reader_refuses_nul_and_nothing_else_in_short_texts(text: str) -> None:
    request = pb().SayRequest(text=text)
    reader = RequestReader()
    if "\0" in text:
        with pytest.raises(InvalidArgument):
            reader.read(pb().SayRequest, request.SerializeToString())
    else:
        assert reader.read(pb().SayRequest, request.SerializeToString()) == request


def test_text_rule_reports_a_bounded_number_of_fields() -> None:
    assert len(TextRule().broken_fields(pb().SayRequest(words=["\0"] * 1000))) == 20


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff\xff\xff\xff",
        b"\x0a\x05ab",  # a text that ends before its length
        b"\x0a\x02\xff\xfe",  # a text that is not UTF-8
        b"\x0a\x03\xed\xa0\x80",  # half of a surrogate pair
        b"\x08",  # a tag without a value
        b"\x32\x02\x12\x05",  # a message that ends before its length
        b"\x32" + b"\x80" * 11,  # a length that never ends
    ],
)
async def test_bytes_that_are_no_message_are_told_as_such(raw: bytes) -> None:
    async with serving() as echo:
        error = await refused(echo.raw("Say", raw))
    assert (error.reason, error.details.violations) == (Reason.MALFORMED_MESSAGE, ())
    assert "meshtest.echo.v1.SayRequest" in error.message


async def test_message_nested_beyond_the_parser_is_malformed() -> None:
    raw = b""
    for _ in range(200):
        raw = b"\x12" + _varint(len(raw)) + raw
    async with serving() as echo:
        assert (await refused(echo.raw("Say", b"\x32" + _varint(len(raw)) + raw))).reason is Reason.MALFORMED_MESSAGE


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40), min_size=25, max_size=25))
async def test_no_bytes_make_the_server_fail(batch: list[bytes]) -> None:
    reader = RequestReader()
    for raw in batch:
        try:
            reader.read(pb().SayRequest, raw)
        except InvalidArgument:
            continue


async def test_unknown_fields_are_ignored() -> None:
    async with serving() as echo:
        await echo.raw("Say", b"\xfa\x07\x03abc")


async def test_rules_hold_for_every_message_of_a_stream() -> None:
    async def requests() -> AsyncIterator[Any]:
        yield pb().SayRequest(text="fine")
        yield pb().SayRequest(text="a\0")

    async with serving() as echo:
        assert (await refused(echo.stub.Gather(requests()))).reason is Reason.TEXT_NOT_STORABLE
        answers = echo.stub.Chat(requests())
        assert (await answers.read()).text == "fine"
        assert (await refused(answers.read())).reason is Reason.TEXT_NOT_STORABLE


async def test_rules_hold_for_server_streams() -> None:
    async with serving() as echo:
        error = await refused(echo.stub.Count(pb().CountRequest(to=-1)).read())
    assert _fields(error) == ["to"]


async def test_large_but_readable_request_hears_about_its_field() -> None:
    async with serving() as echo:
        error = await refused(echo.stub.Say(pb().SayRequest(text="x" * 5_000_000)))
    assert (error.reason, _fields(error)) == (Reason.INVALID_REQUEST, ["text"])


async def test_unreadably_large_request_is_refused_by_the_transport() -> None:
    async with serving() as echo:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await echo.raw("Say", b"\x2a" + _varint(17 * 2**20) + bytes(17 * 2**20))
    error = from_rpc_error(caught.value)
    assert (type(error), error.reason) == (ResourceExhausted, Reason.MESSAGE_TOO_LARGE)


class Calls(EchoServicer):
    """Keeps the calls that it serves."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    async def Say(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        self.calls.append(current_call())
        self.seen.append(request)
        return pb().SayResponse()


async def test_call_has_the_request_id_of_the_message_and_a_digest_without_it() -> None:
    servicer = Calls()
    first, second = new_id(), new_id()
    async with serving(servicer=servicer) as echo:
        for request_id, text in ((first, "a"), (second, "a"), (first, "b")):
            await echo.stub.Say(pb().SayRequest(text=text, request_id=request_id, labels={"x": "1", "y": "2"}))
        await echo.stub.Say(pb().SayRequest(text="a"))
    assert [call.request_id for call in servicer.calls] == [first, second, first, ""]
    digests = [call.request_digest for call in servicer.calls]
    bare = pb().SayRequest(text="a", labels={"y": "2", "x": "1"}).SerializeToString(deterministic=True)
    assert digests[0] == digests[1] == hashlib.sha256(bare).digest()
    assert digests[2] != digests[0]
    assert digests[3] == b""
    assert [request.request_id for request in servicer.seen] == [first, second, first, ""]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
