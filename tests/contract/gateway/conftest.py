"""A gateway in this process on a real database, without engine and memory behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import httpx
import psycopg
import pytest
import pytest_asyncio

from gateway.app import GatewayServer
from gateway.example_avatars import seed
from gateway.schema import SCHEMA
from gateway.settings import GatewaySettings
from mesh.db.settings import DatabaseSettings
from mesh.rpc.settings import RpcSettings
from mesh.testing.clock import ManualClock
from mesh.testing.postgres import Cluster, MeshDatabase
from tests.contract.gateway.callers import Caller, GrpcCaller, HttpCaller

KEYS = ("identity-key-of-the-gateway-tests",)
EMPTY = "truncate gateway.sessions, gateway.api_keys, gateway.idempotency"
NOWHERE = "unix:/nonexistent/mnemesh.sock"


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs, and ways to call it."""

    server: GatewayServer
    http: httpx.AsyncClient
    grpc: grpc.aio.Channel
    admin_url: str
    url: str
    clock: ManualClock

    def callers(self) -> dict[str, Caller]:
        """Return a caller a transport."""
        return {"grpc": GrpcCaller(self.grpc), "http": HttpCaller(self.http)}

    def sql(self, statement: str) -> list[Any]:
        """Run SQL as the administrator, who sees everything."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="session")
def shared_gateway_database(postgres_cluster: Cluster) -> Iterator[MeshDatabase]:
    """A database with the gateway's schema and the example avatars; making one takes longer than emptying it."""
    database = postgres_cluster.clone([SCHEMA])
    seed(database.admin_url)
    yield database
    postgres_cluster.drop(database)


@pytest.fixture(autouse=True)
def empty_tables(shared_gateway_database: MeshDatabase) -> None:
    """Begin every test with nothing but the avatars."""
    with psycopg.connect(shared_gateway_database.admin_url, autocommit=True) as connection:
        connection.execute(EMPTY)


@asynccontextmanager
async def running_gateway(database: MeshDatabase, **changes: Any) -> AsyncIterator[Gateway]:
    """Start a gateway with some settings changed, and stop it."""
    options: dict[str, Any] = {
        "database": DatabaseSettings(database.urls["gateway"]),
        "identity_keys": KEYS,
        "http_port": 0,
        "listen": "127.0.0.1:0",
        "engine_target": NOWHERE,
        "memory_target": NOWHERE,
        "ready_timeout_s": 0.3,
        "rpc": RpcSettings(drain_s=0.5),
        **changes,
    }
    clock = ManualClock()
    server = GatewayServer(GatewaySettings(**options), clock=clock)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.close)
        stack.push_async_callback(server.stop, 0.2)
        ports = await server.start()
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=f"http://127.0.0.1:{ports.http}", timeout=10))
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{ports.grpc}")  # noqa: TID251 - a caller from outside
        await stack.enter_async_context(channel)
        yield Gateway(server, http, channel, database.admin_url, database.urls["gateway"], clock)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(shared_gateway_database: MeshDatabase) -> AsyncIterator[Gateway]:
    """A gateway in mode `none`, shared by the tests of a module."""
    async with running_gateway(shared_gateway_database) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keyed_gateway(shared_gateway_database: MeshDatabase) -> AsyncIterator[Gateway]:
    """A gateway that asks for keys, shared by the tests of a module."""
    async with running_gateway(shared_gateway_database, auth_mode="api_key") as running:
        yield running


@pytest.fixture(params=["grpc", "http"])
def caller(request: pytest.FixtureRequest, gateway: Gateway) -> Caller:
    """A caller over each transport, as the default user."""
    return gateway.callers()[request.param]
