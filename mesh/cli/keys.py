"""`mnemesh keys`: API keys of a tenant.

Without `--tenant` it is an ordinary caller of the gateway. With `--tenant` it acts as the operator of this machine: it
signs an identity with the keys of this home and calls the gateway's gRPC, which is how a tenant gets its first key.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol

import typer

from mesh.cli.caller import JsonOption, KeyOption, UrlOption, connect
from mesh.cli.http_client import MeshClient
from mesh.cli.operator_keys import operator_keys
from mesh.cli.output import out_console, print_json, tick
from mesh.cli.problems import usage_problem

app = typer.Typer(no_args_is_help=True)

TenantOption = Annotated[
    str,
    typer.Option("--tenant", help="Act for this tenant with the identity keys of this machine, without an API key."),
]


@dataclass(frozen=True, slots=True)
class Target:
    """Which mesh, and with which key; options of `mnemesh keys` before the command."""

    url: str
    key: str


class KeyApi(Protocol):
    """What can be done with keys; requests and answers are the JSON of ApiKeyService."""

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Create a key."""

    def list(self) -> list[dict[str, Any]]:
        """Return every key, newest first."""

    def revoke(self, key_id: str, request_id: str) -> dict[str, Any]:
        """Revoke a key."""


@app.callback()
def options(context: typer.Context, url: UrlOption = "", key: KeyOption = "") -> None:
    """Create, list and revoke API keys.

    Example: mnemesh keys --key mk_... list
    """
    context.obj = Target(url, key)


@app.command("create")
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A name by which people know the key.")],
    scope: Annotated[list[str] | None, typer.Option("--scope", help="What it may do; repeat for several.")] = None,
    days: Annotated[int, typer.Option("--days", min=0, help="Days until it ends; 0 means never.")] = 0,
    for_user: Annotated[str, typer.Option("--for-user", help="UUID of the user that it acts as. Default: you.")] = "",
    tenant: TenantOption = "",
    json_: JsonOption = False,
) -> None:
    """Create a key and show its secret, once.

    Scopes: sessions.read, sessions.write, chat, memory.read, memory.write, keys.admin, or * for all of them.

    Example: mnemesh keys create laptop --scope chat --scope memory.read --days 90

    Example: mnemesh keys create first --tenant acme --scope "*"
    """
    if not scope:
        raise usage_problem("a key needs at least one scope", 'add --scope chat, or --scope "*" for all of them')
    request: dict[str, Any] = {"displayName": name, "scopes": scope, "requestId": str(uuid.uuid4())}
    if for_user:
        request["userId"] = _uuid(for_user, "--for-user")
    if days:
        request["expireTime"] = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    with _api(context.obj, tenant) as api:
        answer = api.create(request)
    if json_:
        print_json(answer)
    else:
        _print_created(answer)


@app.command("list")
def list_keys(context: typer.Context, tenant: TenantOption = "", json_: JsonOption = False) -> None:
    """List keys, newest first; secrets are never shown again.

    Example: mnemesh keys list
    """
    with _api(context.obj, tenant) as api:
        keys = api.list()
    if json_:
        print_json({"apiKeys": keys})
    else:
        _print_table(keys)


@app.command("revoke")
def revoke(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="UUID of the key, as `mnemesh keys list` shows it.")],
    tenant: TenantOption = "",
    json_: JsonOption = False,
) -> None:
    """Revoke a key; calls with it are refused at once.

    Example: mnemesh keys revoke 7a4a41c0-6d0c-4b51-9c9c-c0f7ce5f3d0e
    """
    with _api(context.obj, tenant) as api:
        answer = api.revoke(_uuid(key_id, "ID"), str(uuid.uuid4()))
    if json_:
        print_json(answer)
    else:
        out_console().print(tick(f"revoked {answer['apiKey'].get('displayName') or key_id}"))


class HttpKeys:
    """Keys of the caller's own tenant, over HTTP."""

    def __init__(self, client: MeshClient) -> None:
        self._client = client

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._client.post("/v1/apiKeys", request)

    def list(self) -> list[dict[str, Any]]:
        return list(self._client.pages("/v1/apiKeys", "apiKeys"))

    def revoke(self, key_id: str, request_id: str) -> dict[str, Any]:
        return self._client.post(f"/v1/apiKeys/{key_id}:revoke", {"requestId": request_id})


@contextmanager
def _api(target: Target, tenant: str) -> Iterator[KeyApi]:
    if tenant:
        yield operator_keys(tenant)
        return
    with connect(target.url, target.key) as client:
        yield HttpKeys(client)


def _uuid(value: str, where: str) -> str:
    try:
        return str(uuid.UUID(value))
    except ValueError as error:
        raise usage_problem(f"{where}: {value!r} is not a UUID", "copy it from `mnemesh keys list`") from error


def _print_created(answer: Mapping[str, Any]) -> None:
    console = out_console()
    key = answer["apiKey"]
    console.print(tick(f"created {key['displayName']} ({key['id']}), for {', '.join(key.get('scopes', []))}"))
    console.print(f"\n    {answer['secret']}\n")
    console.print("Keep it now: it is stored as a hash and cannot be shown again.", style="dim")


def _print_table(keys: list[dict[str, Any]]) -> None:
    console = out_console()
    if not keys:
        console.print("no keys yet; `mnemesh keys create` makes one", style="dim")
    for key in keys:
        scopes = ",".join(key.get("scopes", []))
        row = f"{key['id']}  {key.get('prefix', ''):<12}  {_state(key):<22}  {scopes:<24}  {key.get('displayName', '')}"
        console.print(row, markup=False, soft_wrap=True)


def _state(key: Mapping[str, Any]) -> str:
    if key.get("revokeTime"):
        return f"revoked {key['revokeTime'][:10]}"
    if key.get("expireTime"):
        ended = datetime.fromisoformat(key["expireTime"]) <= datetime.now(UTC)
        return f"{'ended' if ended else 'until'} {key['expireTime'][:10]}"
    return "active"
