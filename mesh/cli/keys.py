"""`mnemesh keys`: API keys of a tenant.

Without `--tenant` it is an ordinary caller of the gateway. With `--tenant` it acts as the operator of this machine: it
signs an identity with the keys of this home and calls the gateway's gRPC, which is how a tenant gets its first key.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from mesh.cli.options import JsonOption, KeyOption, UrlOption
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
    from mesh.cli.key_admin import in_days, key_api, print_created  # noqa: PLC0415 - help must not wait for it

    if not scope:
        raise usage_problem("a key needs at least one scope", 'add --scope chat, or --scope "*" for all of them')
    request: dict[str, Any] = {"displayName": name, "scopes": scope, "requestId": str(uuid.uuid4())}
    if for_user:
        request["userId"] = _uuid(for_user, "--for-user")
    if days:
        request["expireTime"] = in_days(days)
    with key_api(context.obj.url, context.obj.key, tenant) as api:
        print_created(api.create(request), json_wanted=json_)


@app.command("list")
def list_keys(context: typer.Context, tenant: TenantOption = "", json_: JsonOption = False) -> None:
    """List keys, newest first; secrets are never shown again.

    Example: mnemesh keys list
    """
    from mesh.cli.key_admin import key_api, print_keys  # noqa: PLC0415 - help must not wait for it

    with key_api(context.obj.url, context.obj.key, tenant) as api:
        print_keys(api.list(), json_wanted=json_)


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
    from mesh.cli.key_admin import key_api, print_revoked  # noqa: PLC0415 - help must not wait for it

    with key_api(context.obj.url, context.obj.key, tenant) as api:
        print_revoked(api.revoke(_uuid(key_id, "ID"), str(uuid.uuid4())), json_wanted=json_)


def _uuid(value: str, where: str) -> str:
    try:
        return str(uuid.UUID(value))
    except ValueError as error:
        raise usage_problem(f"{where}: {value!r} is not a UUID", "copy it from `mnemesh keys list`") from error
