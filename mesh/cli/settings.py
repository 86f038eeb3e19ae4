"""What the commands read from the environment; options on the command line win over it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mesh.cli.problems import environment_problem
from mesh.kernel.errors import FailedPrecondition
from mesh.runtime.settings import load, setting

DEFAULT_HTTP_PORT = 8080

CLI_ONLY = frozenset(
    {
        "MNEMESH_ADMIN_DATABASE_URL",
        "MNEMESH_DATABASE_URL",
        "MNEMESH_URL",
        "MNEMESH_API_KEY",
        "MNEMESH_USER_ID",
        "MNEMESH_GATEWAY_LISTEN",
        "MNEMESH_ENGINE_LISTEN",
        "MNEMESH_MEMORY_LISTEN",
    }
)
"""Variables that a server must not inherit: they mean something else to it, or nothing."""


@dataclass(frozen=True, slots=True)
class CliSettings:
    """Settings of `mnemesh` itself. The servers that it starts read their own, from the same environment.

    Args:
        home: where everything is kept, empty when it was not chosen.
        data_home: where the system keeps data of users, by the XDG base directory specification; empty when not set.
        http_port: port of the gateway's HTTP, None when it was not chosen.
        http_host: address of the gateway's HTTP.
        database_url: an administrator's URL of the database to use instead of the embedded one; empty means embedded.
        gateway_listen: `host:port` of the gateway's gRPC, empty when it was not chosen; likewise the other two.
        gateway_db_password: for `migrate`; empty leaves the role's password as it is; likewise the other two.
        gateway_target: address of the gateway's gRPC for `keys --tenant`; empty means the one of this home.
        identity_keys: keys that sign identity between servers; empty means those of this home.
        auth_mode: as the gateway reads it.
        url: base URL of the mesh that `chat`, `ingest` and `keys` talk to; empty means the one of this home.
        api_key: sent as bearer token; empty means none.
        user_id: sent as `X-User-ID`; empty means the gateway's local user.
    """

    home: str = setting("MNEMESH_HOME", "Directory of everything that is kept on this machine.", default="")
    data_home: str = setting("XDG_DATA_HOME", "Where the system keeps data of users.", default="")
    http_port: int | None = setting("MNEMESH_HTTP_PORT", "Port of the gateway's HTTP; 8080 by default.", default=None)
    http_host: str = setting("MNEMESH_HTTP_HOST", "Address of the gateway's HTTP.", default="127.0.0.1")
    database_url: str = setting(
        ("MNEMESH_ADMIN_DATABASE_URL", "MNEMESH_DATABASE_URL"),
        "Database for `mnemesh up`, as a role that may create roles; embedded PostgreSQL by default.",
        default="",
        secret=True,
    )
    gateway_listen: str = setting("MNEMESH_GATEWAY_LISTEN", "Address of the gateway's gRPC.", default="")
    engine_listen: str = setting("MNEMESH_ENGINE_LISTEN", "Address of the engine's gRPC.", default="")
    memory_listen: str = setting("MNEMESH_MEMORY_LISTEN", "Address of the memory's gRPC.", default="")
    gateway_db_password: str = setting(
        "MNEMESH_GATEWAY_DB_PASSWORD", "Password to give the role mnemesh_gateway.", default="", secret=True
    )
    engine_db_password: str = setting(
        "MNEMESH_ENGINE_DB_PASSWORD", "Password to give the role mnemesh_engine.", default="", secret=True
    )
    memory_db_password: str = setting(
        "MNEMESH_MEMORY_DB_PASSWORD", "Password to give the role mnemesh_memory.", default="", secret=True
    )
    gateway_target: str = setting("MNEMESH_GATEWAY_TARGET", "Where `keys --tenant` finds the gateway.", default="")
    identity_keys: tuple[str, ...] = setting(
        "MNEMESH_IDENTITY_KEYS", "Keys that sign identity, instead of those of the home.", default=(), secret=True
    )
    auth_mode: str = setting("MNEMESH_AUTH_MODE", "How callers prove who they are: none or api_key.", default="")
    url: str = setting("MNEMESH_URL", "Mesh that `chat`, `ingest` and `keys` talk to.", default="")
    api_key: str = setting("MNEMESH_API_KEY", "API key of `chat`, `ingest` and `keys`.", default="", secret=True)
    user_id: str = setting("MNEMESH_USER_ID", "User that they speak as, where no key is asked for.", default="")

    def listen_of(self, service: str) -> str:
        """Return the address chosen for a server's gRPC, or an empty text."""
        return {
            "gateway": self.gateway_listen,
            "engine": self.engine_listen,
            "memory": self.memory_listen,
        }.get(service, "")

    def chosen_passwords(self) -> dict[str, str]:
        """Return the passwords that were chosen for runtime roles, by server."""
        known = {
            "gateway": self.gateway_db_password,
            "engine": self.engine_db_password,
            "memory": self.memory_db_password,
        }
        return {service: password for service, password in known.items() if password}


def read_settings() -> CliSettings:
    """Return the settings of this process.

    Raises:
        Problem: a variable cannot be read.
    """
    try:
        return load(CliSettings, os.environ)  # noqa: TID251 - a settings module
    except FailedPrecondition as error:
        raise environment_problem(error.message.rstrip("."), "correct it and start again") from error


def inherited_environment() -> dict[str, str]:
    """Return a copy of the environment, for the processes that `up`, `serve` and `work` start."""
    return dict(os.environ)  # noqa: TID251 - a settings module
