"""What runs beside the calls: uses of keys are written, old answers are removed, a dead HTTP side is noticed."""

from __future__ import annotations

import asyncio

import pytest

from mesh.testing.postgres import MeshDatabase
from tests.contract.gateway.callers import MIA
from tests.contract.gateway.conftest import Gateway, running_gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_uses_of_keys_are_written_when_the_gateway_stops(gateway: Gateway) -> None:
    caller = gateway.callers()["http"]
    secret = (await caller("CreateApiKey", displayName="k", scopes=["*"]))["secret"]
    stop = asyncio.Event()
    worker = asyncio.ensure_future(gateway.server.workers["key_uses"](stop))
    await caller.acting(key=secret)("ListSessions")
    stop.set()
    await worker
    assert gateway.sql("select last_used_at is not null from gateway.api_keys") == [(True,)]


async def test_answers_are_kept_for_a_day_and_then_removed(gateway: Gateway) -> None:
    caller = gateway.callers()["http"]
    request_id = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"
    await caller("CreateSession", avatarId=MIA, requestId=request_id)
    await gateway.server._housekeeping._sweep()
    assert gateway.sql("select count(*) from gateway.idempotency") == [(1,)]
    gateway.clock.advance(24 * 3600 + 60)
    await gateway.server._housekeeping._sweep()
    assert gateway.sql("select count(*) from gateway.idempotency") == [(0,)]


async def test_http_that_ends_by_itself_is_a_failure_and_a_stop_is_none(shared_gateway_database: MeshDatabase) -> None:
    async with running_gateway(shared_gateway_database) as failing:
        watching = asyncio.ensure_future(failing.server.workers["http"](asyncio.Event()))
        failing.server._http.stop()
        with pytest.raises(RuntimeError, match="by itself"):
            await watching
    async with running_gateway(shared_gateway_database) as stopping:
        stop = asyncio.Event()
        watching = asyncio.ensure_future(stopping.server.workers["http"](stop))
        await asyncio.sleep(0)
        await stopping.server.stop(0.2)
        assert not watching.done()
        stop.set()
        await watching
