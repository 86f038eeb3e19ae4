"""The order of interceptors, and what a server refuses to serve."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mesh.kernel.clock import SystemClock
from mesh.kernel.identity import Principal
from mesh.rpc.interceptors import Interceptor, check_order
from mesh.rpc.server import RpcSettings, standard_interceptors
from mesh.telemetry.traces import Tracing


class Nobody:
    """Proves no one."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Principal:
        raise AssertionError("nobody calls")


def _standard() -> list[Interceptor]:
    return standard_interceptors(RpcSettings(), Nobody(), clock=SystemClock(), tracing=Tracing())


def test_interceptors_stand_in_the_designed_order() -> None:
    assert [interceptor.name for interceptor in _standard()] == [
        "trace",
        "access_log",
        "status",
        "deadline",
        "admission",
        "authentication",
        "validation",
    ]
    check_order(_standard())


@pytest.mark.parametrize("index", range(1, 7))
def test_no_interceptor_may_move_to_the_front(index: int) -> None:
    moved = _standard()
    moved.insert(0, moved.pop(index))
    with pytest.raises(ValueError, match="must stand inside of"):
        check_order(moved)


@pytest.mark.parametrize("name", ["trace", "access_log", "status", "deadline", "admission", "authentication"])
def test_no_interceptor_but_the_innermost_may_be_left_out(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        check_order([interceptor for interceptor in _standard() if interceptor.name != name])
