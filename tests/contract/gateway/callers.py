"""One way to call an RPC, by name with JSON, over gRPC and over HTTP, so that one table of cases runs over both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import quote

import grpc
import httpx
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from gateway.http import protojson
from gateway.http.jsonread import merge
from gateway.http.names import json_path
from gateway.http.problems import STATUS_OF_CODE, STATUS_OF_REASON
from gateway.http.transcode import Route, routes_of
from gateway.rpc.services import MEMORY_CONTRACTS, OWN_CONTRACTS
from mesh.rpc.status import from_rpc_error

ROUTES = {route.method.name: route for route in routes_of((*OWN_CONTRACTS, *MEMORY_CONTRACTS))}

MIA = "5f0c7a52-9d1e-4b6a-8a44-6d6961000001"
OSTAP = "5f0c7a52-9d1e-4b6a-8a44-6f7374000002"


class Refused(Exception):
    """An error as a caller sees it, the same over both transports.

    Args:
        status: HTTP status that belongs to it.
        reason: ErrorInfo reason.
        fields: bad fields, in the names of JSON.
    """

    def __init__(self, status: int, reason: str, fields: list[str], message: str) -> None:
        super().__init__(f"{status} {reason} {fields} {message}")
        self.status = status
        self.reason = reason
        self.fields = fields
        self.message = message


class Caller(Protocol):
    """Calls RPCs as one user."""

    async def __call__(self, rpc: str, /, **request: Any) -> Any:
        """Call an RPC with the JSON fields of its request and return the JSON of its answer; raises `Refused`."""
        ...

    def acting(self, user_id: str = "", key: str = "") -> Caller:
        """Return a caller with another credential."""
        ...


@dataclass(frozen=True)
class GrpcCaller:
    """Calls the gateway's gRPC port."""

    channel: grpc.aio.Channel
    metadata: tuple[tuple[str, str], ...] = ()

    async def __call__(self, rpc: str, /, **request: Any) -> Any:
        route = ROUTES[rpc]
        message = route.request()
        merge(message, request)
        call: Any = self.channel.unary_unary(
            route.rpc,
            request_serializer=route.request.SerializeToString,
            response_deserializer=route.response.FromString,
        )
        try:
            return protojson.to_value(await call(message, metadata=self.metadata, timeout=10))
        except grpc.aio.AioRpcError as error:
            known = from_rpc_error(error)
            status = STATUS_OF_REASON.get(known.reason) or STATUS_OF_CODE[known.code]
            fields = [json_path(one.field) for one in known.details.violations]
            raise Refused(status, known.reason.value, fields, known.message) from error

    def acting(self, user_id: str = "", key: str = "") -> GrpcCaller:
        pairs = (("x-user-id", user_id), ("authorization", f"Bearer {key}" if key else ""))
        return replace(self, metadata=tuple(pair for pair in pairs if pair[1]))


@dataclass(frozen=True)
class HttpCaller:
    """Calls the gateway's HTTP port, by the rule of the RPC."""

    client: httpx.AsyncClient
    headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, rpc: str, /, **request: Any) -> Any:
        verb, path, options = http_request(ROUTES[rpc], request)
        answer = await self.client.request(verb, path, headers=dict(self.headers), **options)
        body = answer.json()
        assert answer.headers["x-request-id"]
        if answer.status_code != 200:
            assert answer.headers["content-type"] == "application/problem+json"
            assert body["status"] == answer.status_code
            assert body["requestId"] == answer.headers["x-request-id"]
            fields = [one["field"] for one in body.get("violations", ())]
            raise Refused(answer.status_code, body["reason"], fields, body["detail"])
        return body

    def acting(self, user_id: str = "", key: str = "") -> HttpCaller:
        pairs = {"X-User-ID": user_id, "Authorization": f"Bearer {key}" if key else ""}
        return replace(self, headers={name: value for name, value in pairs.items() if value})


def http_request(route: Route, request: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return method, path and the options of httpx for an RPC's request, the reverse of what the gateway does."""
    rest = {name: dict(value) if isinstance(value, dict) else value for name, value in request.items()}
    path = route.template.text
    for variable in route.template.variables:
        *parents, last = (json_path(part) for part in variable.split("."))
        place = rest
        for name in parents:
            place = place[name]
        path = path.replace(f"{{{variable}}}", quote(str(place.pop(last)), safe=""))
    if route.body == "*":
        return route.verb, path, {"json": rest}
    options: dict[str, Any] = {"json": rest.pop(route.body)} if route.body else {}
    return route.verb, path, {**options, "params": rest}


def message_of(rpc: str, request: Mapping[str, Any]) -> Any:
    """Return the request message of an RPC."""
    message = GetMessageClass(ROUTES[rpc].method.input_type)()
    json_format.ParseDict(dict(request), message)
    return message
