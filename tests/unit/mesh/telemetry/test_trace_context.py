"""W3C trace context."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.telemetry.context import TraceContext, new_trace, parse_traceparent

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEX = "0123456789abcdef"


@given(
    st.text(HEX, min_size=32, max_size=32).filter(lambda value: int(value, 16)),
    st.text(HEX, min_size=16, max_size=16).filter(lambda value: int(value, 16)),
    st.booleans(),
)
def test_header_returns_the_position_it_was_made_of(trace_id: str, span_id: str, sampled: bool) -> None:
    here = TraceContext(trace_id, span_id, sampled)
    assert parse_traceparent(here.traceparent()) == TraceContext(trace_id, span_id, sampled, remote=True)


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"00-{TRACE_ID}-{SPAN_ID}",
        f"00-{TRACE_ID.upper()}-{SPAN_ID}-01",
        f"00-{'0' * 32}-{SPAN_ID}-01",
        f"00-{TRACE_ID}-{'0' * 16}-01",
        f"00-{TRACE_ID}-{SPAN_ID}-01-more",
        f"ff-{TRACE_ID}-{SPAN_ID}-01",
        f"0-{TRACE_ID}-{SPAN_ID}-01",
        f"00-{TRACE_ID}-{SPAN_ID}-1",
        f"00-{TRACE_ID[1:]}-{SPAN_ID}-01",
        f" 00-{TRACE_ID}-{SPAN_ID}-01",
        f"00-{TRACE_ID}-{SPAN_ID}-01\n",
    ],
)
def test_invalid_header_is_no_position(header: str) -> None:
    assert parse_traceparent(header) is None


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("02", False), ("03", True), ("ff", True)])
def test_only_the_lowest_flag_means_sampled(flags: str, sampled: bool) -> None:
    position = parse_traceparent(f"00-{TRACE_ID}-{SPAN_ID}-{flags}")
    assert position is not None
    assert position.sampled == sampled


def test_version_of_the_future_is_read_as_ours() -> None:
    assert parse_traceparent(f"01-{TRACE_ID}-{SPAN_ID}-01-more") == TraceContext(TRACE_ID, SPAN_ID, True, remote=True)


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str) -> None:
    position = parse_traceparent(text)
    assert position is None or re.fullmatch(r"[0-9a-f]{32}", position.trace_id)


def test_new_traces_differ_and_are_valid() -> None:
    traces = [new_trace(sampled=False) for _ in range(100)]
    assert len({trace.trace_id for trace in traces}) == 100
    assert all(parse_traceparent(trace.traceparent()) for trace in traces)
