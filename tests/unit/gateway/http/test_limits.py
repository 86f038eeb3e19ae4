"""Bounds of HTTP requests."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from starlette.datastructures import Headers

from gateway.http.limits import Admission, ClientGone, HttpLimits, read_body, require_json, timeout_s
from gateway.http.problems import HttpError
from mesh.kernel.errors import InvalidArgument, ResourceExhausted
from mesh.kernel.reasons import Reason

SMALL = HttpLimits(max_body_bytes=10, max_requests=1, max_streams=1, body_timeout_s=0.02)


def body_of(*chunks: bytes) -> Any:
    waiting = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    waiting[-1]["more_body"] = False

    async def receive() -> Any:
        return waiting.pop(0)

    return receive


async def test_a_body_is_read_whole() -> None:
    assert await read_body(Headers({}), body_of(b"abc", b"", b"def"), SMALL) == b"abcdef"


async def test_an_announced_body_that_is_too_large_is_not_read() -> None:
    async def unread() -> Any:
        raise AssertionError("nothing must be read")

    with pytest.raises(ResourceExhausted) as refused:
        await read_body(Headers({"content-length": "11"}), unread, SMALL)
    assert refused.value.reason is Reason.MESSAGE_TOO_LARGE


async def test_a_body_that_turns_out_too_large_is_refused() -> None:
    with pytest.raises(ResourceExhausted):
        await read_body(Headers({"content-length": "5"}), body_of(b"abcdef", b"ghijkl"), SMALL)


async def test_a_body_that_does_not_arrive_is_408() -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(HttpError) as refused:
        await read_body(Headers({}), never, SMALL)
    assert refused.value.status == 408


async def test_a_client_that_leaves_while_it_sends_is_gone() -> None:
    async def leave() -> Any:
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGone):
        await read_body(Headers({}), leave, SMALL)


@pytest.mark.parametrize(
    "value",
    ["application/json", "application/json; charset=UTF-8", 'Application/JSON;charset="utf-8"', "application/x+json"],
)
def test_json_is_taken(value: str) -> None:
    require_json(Headers({"content-type": value}))
    require_json(Headers({}))


@pytest.mark.parametrize(
    "value", ["text/plain", "", "application/x-www-form-urlencoded", "application/json;charset=l1"]
)
def test_another_content_type_is_415(value: str) -> None:
    with pytest.raises(HttpError) as refused:
        require_json(Headers({"content-type": value}))
    assert refused.value.status == 415


def test_a_timeout_is_taken_from_the_header_up_to_the_cap() -> None:
    assert timeout_s(Headers({}), math.inf) == math.inf
    assert timeout_s(Headers({"x-request-timeout-ms": "250"}), math.inf) == 0.25
    assert timeout_s(Headers({"x-request-timeout-ms": "250000"}), 30) == 30


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "x", "99999999999999", "3600001"])
def test_a_wrong_timeout_is_refused(value: str) -> None:
    with pytest.raises(InvalidArgument):
        timeout_s(Headers({"x-request-timeout-ms": value}), math.inf)


def test_what_is_too_many_is_refused_at_once_and_streams_have_places_of_their_own() -> None:
    admission = Admission(SMALL)
    with admission.admit(stream=False):
        with pytest.raises(ResourceExhausted) as refused, admission.admit(stream=False):
            pass
        with admission.admit(stream=True):
            pass
    assert refused.value.details.retry_after is not None
    with admission.admit(stream=False):
        pass
