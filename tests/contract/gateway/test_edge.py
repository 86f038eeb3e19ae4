"""The HTTP edge itself: what is no RPC, limits, media types, browsers, and what a request may say about itself."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import httpx
import pytest

from gateway.app import GatewayServer
from gateway.http.limits import HttpLimits
from gateway.settings import GatewaySettings
from mesh.db.settings import DatabaseSettings
from mesh.kernel.errors import FailedPrecondition
from mesh.testing.postgres import MeshDatabase
from tests.contract.gateway.callers import MIA
from tests.contract.gateway.conftest import KEYS, Gateway, running_gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")


def problem(answer: httpx.Response, status: int, reason: str) -> Any:
    body = answer.json()
    assert (answer.status_code, body["status"], body["reason"]) == (status, status, reason)
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["requestId"] == answer.headers["x-request-id"]
    return body


async def test_pages_beside_the_routes(gateway: Gateway) -> None:
    index = (await gateway.http.get("/")).json()
    assert index["links"]["docs"] == "/docs"
    docs = await gateway.http.get("/docs")
    assert docs.headers["content-type"].startswith("text/html")
    assert "/v1/sessions/{session_id}:converse" in docs.text
    assert "LearnFromTurn" not in docs.text
    assert (await gateway.http.get("/healthz")).json() == {"status": "alive"}
    head = await gateway.http.head("/v1/avatars")
    assert (head.status_code, head.content) == (200, b"")


async def test_ready_tells_what_is_missing_within_its_bound(gateway: Gateway) -> None:
    async with asyncio.timeout(5):
        answer = await gateway.http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {
        "gateway": "ok",
        "database": "ok",
        "engine": "unavailable",
        "memory": "unavailable",
    }


async def test_unknown_paths_and_methods(gateway: Gateway) -> None:
    problem(await gateway.http.get("/v1/nothing"), 404, "ROUTE_NOT_FOUND")
    for path, allowed in (("/v1/sessions", "GET, POST"), ("/docs", "GET"), ("/healthz", "GET")):
        answer = await gateway.http.put(path)
        problem(answer, 405, "METHOD_NOT_ALLOWED")
        assert answer.headers["allow"] == allowed


async def test_a_server_that_cannot_be_reached_is_503(gateway: Gateway) -> None:
    problem(await gateway.http.get("/v1/memory/facts"), 503, "SERVICE_UNAVAILABLE")
    session = (await gateway.http.post("/v1/sessions", json={"avatarId": MIA})).json()["session"]["id"]
    problem(await gateway.http.post(f"/v1/sessions/{session}:converse", json={"text": "x"}), 503, "SERVICE_UNAVAILABLE")


@pytest.mark.parametrize(
    ("content", "kind", "status", "reason"),
    [
        (b"{", "application/json", 400, "MALFORMED_MESSAGE"),
        (b"[]", "application/json", 400, "MALFORMED_MESSAGE"),
        (b'"x"', "application/json", 400, "MALFORMED_MESSAGE"),
        (b'{"name":"\xff"}', "application/json", 400, "MALFORMED_MESSAGE"),
        (b"[" * 50_000, "application/json", 400, "MALFORMED_MESSAGE"),
        (b"{}", "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (b"avatarId=x", "application/x-www-form-urlencoded", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (b'{"name":"\\ud83d"}', "application/json", 400, "TEXT_NOT_STORABLE"),
    ],
)
async def test_bodies_that_are_not_the_json_of_a_request(
    gateway: Gateway, content: bytes, kind: str, status: int, reason: str
) -> None:
    answer = await gateway.http.post("/v1/sessions", content=content, headers={"Content-Type": kind})
    body = problem(answer, status, reason)
    if reason == "TEXT_NOT_STORABLE":
        assert body["violations"][0]["field"] == "name"


async def test_a_body_without_a_content_type_is_json(gateway: Gateway) -> None:
    answer = await gateway.http.post("/v1/sessions", content=json.dumps({"avatarId": MIA}).encode())
    assert answer.status_code == 200


async def test_a_body_over_the_limit_is_413_before_it_is_read(gateway: Gateway) -> None:
    big = b'{"name":"' + b"x" * (16 * 1024 * 1024) + b'"}'
    problem(await gateway.http.post("/v1/sessions", content=big), 413, "MESSAGE_TOO_LARGE")

    async def chunks() -> Any:
        for _ in range(17):
            yield b"x" * 1024 * 1024

    problem(await gateway.http.post("/v1/sessions", content=chunks()), 413, "MESSAGE_TOO_LARGE")
    assert (await gateway.http.get("/healthz")).status_code == 200


async def test_a_body_announced_over_the_limit_is_refused_without_waiting_for_it(gateway: Gateway) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.http.base_url.port)
    host = f"127.0.0.1:{gateway.http.base_url.port}"
    writer.write(f"POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999\r\n\r\n".encode())
    async with asyncio.timeout(5):
        assert (await reader.readline()).startswith(b"HTTP/1.1 413")
    writer.close()


async def test_the_request_id_of_the_caller_is_kept_and_a_strange_one_is_replaced(gateway: Gateway) -> None:
    answer = await gateway.http.get("/v1/sessions/x", headers={"X-Request-Id": "abc-1"})
    assert problem(answer, 400, "INVALID_REQUEST")["requestId"] == "abc-1"
    answer = await gateway.http.get("/v1/sessions/x", headers={"X-Request-Id": "a b\tc"})
    assert answer.headers["x-request-id"] not in {"", "a b\tc"}


async def test_an_idempotency_key_makes_a_retry_safe(gateway: Gateway) -> None:
    headers = {"Idempotency-Key": '"6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"'}
    answers = [await gateway.http.post("/v1/sessions", json={"avatarId": MIA}, headers=headers) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    bad = await gateway.http.post("/v1/sessions", json={"avatarId": MIA}, headers={"Idempotency-Key": "7"})
    assert problem(bad, 400, "INVALID_REQUEST")["violations"][0]["field"] == "requestId"


async def test_a_caller_may_wait_for_a_shorter_time(gateway: Gateway) -> None:
    answer = await gateway.http.get("/v1/sessions", headers={"X-Request-Timeout-Ms": "1"})
    problem(answer, 504, "DEADLINE_EXCEEDED")
    answer = await gateway.http.get("/v1/sessions", headers={"X-Request-Timeout-Ms": "soon"})
    problem(answer, 400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "mesh.evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_a_page_of_another_origin_cannot_use_a_mesh_without_keys(
    gateway: Gateway, headers: dict[str, str]
) -> None:
    answer = await gateway.http.post("/v1/sessions", json={"avatarId": MIA}, headers=headers)
    body = problem(answer, 403, "ORIGIN_NOT_ALLOWED")
    assert body["violations"][0]["field"] in headers
    assert gateway.sql("select count(*) from gateway.sessions") == [(0,)]
    assert (await gateway.http.get("/healthz", headers=headers)).status_code == 200
    if "Sec-Fetch-Site" not in headers:
        assert (await gateway.http.get("/docs", headers=headers)).status_code == 403


async def test_with_keys_every_origin_may_ask_and_must_show_one(keyed_gateway: Gateway) -> None:
    answer = await keyed_gateway.http.get(
        "/v1/sessions", headers={"Origin": "https://app.example", "Host": "mesh.example"}
    )
    problem(answer, 401, "CREDENTIAL_MISSING")
    assert answer.headers["www-authenticate"] == 'Bearer realm="mnemesh"'


async def test_responses_do_not_wait_for_acknowledgements(gateway: Gateway) -> None:
    await gateway.http.get("/healthz")
    connections = gateway.server._http._server.server_state.connections
    sockets = [connection.transport.get_extra_info("socket") for connection in connections]
    assert sockets
    assert all(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets)


async def test_too_many_requests_at_once_are_429(shared_gateway_database: MeshDatabase) -> None:
    limits = HttpLimits(max_requests=0)
    async with running_gateway(shared_gateway_database, limits=limits) as busy:
        answer = await busy.http.get("/v1/sessions")
        problem(answer, 429, "OVERLOADED")
        assert int(answer.headers["retry-after"]) >= 1
        assert (await busy.http.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    "change",
    [{"http_host": "0.0.0.0"}, {"http_host": "::"}, {"listen": "0.0.0.0:0"}, {"listen": "[::]:0"}, {"listen": ":0"}],
)
async def test_without_keys_only_loopback_addresses_are_listened_on(change: dict[str, str]) -> None:
    with pytest.raises(FailedPrecondition, match="MNEMESH_AUTH_MODE"):
        GatewayServer(GatewaySettings(database=DatabaseSettings("postgresql://nowhere"), identity_keys=KEYS, **change))


async def test_a_port_that_is_taken_is_named(gateway: Gateway, shared_gateway_database: MeshDatabase) -> None:
    taken = gateway.http.base_url.port
    with pytest.raises(FailedPrecondition, match=f"{taken}.*MNEMESH_HTTP_PORT"):
        async with running_gateway(shared_gateway_database, http_port=taken):
            pass


async def test_a_gateway_that_stops_finishes_and_leaves_nothing(shared_gateway_database: MeshDatabase) -> None:
    before = asyncio.all_tasks()
    async with running_gateway(shared_gateway_database) as stopping:
        assert (await stopping.http.get("/v1/avatars")).status_code == 200
        directory = stopping.server._directory
    await asyncio.sleep(0)
    assert {task for task in asyncio.all_tasks() - before if not task.done()} == set()
    assert not directory.exists()
