"""API keys through one of two doors: the gateway's HTTP as a caller, or its gRPC as the operator of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from mesh.cli.caller import connect
from mesh.cli.http_client import MeshClient
from mesh.cli.operator_keys import operator_keys
from mesh.cli.output import out_console, print_json, tick


class KeyApi(Protocol):
    """What can be done with keys; requests and answers are the JSON of ApiKeyService."""

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Create a key."""

    def list(self) -> list[dict[str, Any]]:
        """Return every key, newest first."""

    def revoke(self, key_id: str, request_id: str) -> dict[str, Any]:
        """Revoke a key."""


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
def key_api(url: str, key: str, tenant: str) -> Iterator[KeyApi]:
    """Return the keys of a tenant.

    Args:
        url: of the mesh, empty for the usual one.
        key: API key of the caller, empty for the usual one.
        tenant: whose keys, as the operator of this machine; empty means those of the caller's own tenant.
    """
    if tenant:
        yield operator_keys(tenant)
        return
    with connect(url, key) as client:
        yield HttpKeys(client)


def in_days(days: int) -> str:
    """Return the instant so many days from now, as JSON has it."""
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def print_created(answer: Mapping[str, Any], *, json_wanted: bool) -> None:
    """Show a new key with its secret."""
    if json_wanted:
        print_json(answer)
        return
    console = out_console()
    key = answer["apiKey"]
    console.print(tick(f"created {key['displayName']} ({key['id']}), for {', '.join(key.get('scopes', []))}"))
    console.print(f"\n    {answer['secret']}\n")
    console.print("Keep it now: it is stored as a hash and cannot be shown again.", style="dim")


def print_keys(keys: Sequence[Mapping[str, Any]], *, json_wanted: bool) -> None:
    """Show keys without their secrets."""
    if json_wanted:
        print_json({"apiKeys": list(keys)})
        return
    console = out_console()
    if not keys:
        console.print("no keys yet; `mnemesh keys create` makes one", style="dim")
    for key in keys:
        scopes = ",".join(key.get("scopes", []))
        row = f"{key['id']}  {key.get('prefix', ''):<12}  {_state(key):<22}  {scopes:<24}  {key.get('displayName', '')}"
        console.print(row, markup=False, soft_wrap=True)


def print_revoked(answer: Mapping[str, Any], *, json_wanted: bool) -> None:
    """Show that a key was revoked."""
    if json_wanted:
        print_json(answer)
    else:
        out_console().print(tick(f"revoked {answer['apiKey'].get('displayName') or answer['apiKey']['id']}"))


def _state(key: Mapping[str, Any]) -> str:
    if key.get("revokeTime"):
        return f"revoked {key['revokeTime'][:10]}"
    if key.get("expireTime"):
        ended = datetime.fromisoformat(key["expireTime"]) <= datetime.now(UTC)
        return f"{'ended' if ended else 'until'} {key['expireTime'][:10]}"
    return "active"
