"""The settings of the gateway, each named by the environment variable that sets it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gateway.http.limits import HttpLimits
from mesh.db.settings import DatabaseSettings
from mesh.rpc.settings import RpcSettings
from mesh.runtime.serve import DrainSettings
from mesh.runtime.settings import setting
from mesh.telemetry.settings import TelemetrySettings


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What a gateway process needs to know.

    Args:
        database: how PostgreSQL is reached, as the runtime role.
        identity_keys: keys shared by every server of the mesh; the first signs, all verify.
        http_host: address that HTTP listens on.
        http_port: port of HTTP; 0 takes a free one.
        listen: address of its gRPC.
        engine_target: gRPC target of the engine.
        memory_target: gRPC target of memory.
        auth_mode: how callers are proven.
        ready_timeout_s: how long one check of `/readyz` may take.
    """

    identity_keys: tuple[str, ...] = setting(
        "MNEMESH_IDENTITY_KEYS",
        "Comma-separated keys that sign identity between servers, 32 bytes or more.",
        secret=True,
    )
    http_host: str = setting("MNEMESH_HTTP_HOST", "Address that HTTP listens on.", default="127.0.0.1")
    http_port: int = setting("MNEMESH_HTTP_PORT", "Port of HTTP; 0 takes a free one.", default=8080)
    listen: str = setting("MNEMESH_GATEWAY_LISTEN", "Address of the gateway's gRPC.", default="127.0.0.1:50050")
    engine_target: str = setting("MNEMESH_ENGINE_TARGET", "gRPC target of the engine.", default="127.0.0.1:50051")
    memory_target: str = setting("MNEMESH_MEMORY_TARGET", "gRPC target of memory.", default="127.0.0.1:50052")
    auth_mode: Literal["none", "api_key"] = setting(
        "MNEMESH_AUTH_MODE",
        "How callers are proven: api_key, or none, which is allowed on loopback addresses only.",
        default="none",
    )
    ready_timeout_s: float = setting(
        "MNEMESH_GATEWAY_READY_TIMEOUT_SECONDS", "Seconds that one check of /readyz may take.", default=1.0
    )
    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    limits: HttpLimits = field(default_factory=HttpLimits)
    rpc: RpcSettings = field(default_factory=RpcSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    drain: DrainSettings = field(default_factory=DrainSettings)


@dataclass(frozen=True, slots=True)
class MigrateSettings:
    """What `python -m gateway migrate` needs to know.

    Args:
        admin_url: database as a role that may create roles and schemas.
        password: new password of the runtime role; empty leaves the one that it has.
    """

    admin_url: str = setting(
        "MNEMESH_ADMIN_DATABASE_URL", "Database as a role that may create roles, for migrations.", secret=True
    )
    password: str = setting(
        "MNEMESH_GATEWAY_DB_PASSWORD",
        "Password to give the runtime role mnemesh_gateway when migrating; unset leaves it as it is.",
        default="",
        secret=True,
    )


OTHERS_VARIABLES = (
    "MNEMESH_DATABASE_URL",
    "MNEMESH_ADMIN_DATABASE_URL",
    "MNEMESH_HOME",
    "MNEMESH_LOG_*",
    "MNEMESH_PG_*",
    "MNEMESH_ENGINE_*",
    "MNEMESH_MEMORY_*",
    "MNEMESH_MODEL_*",
    "MNEMESH_GEMINI_*",
    "MNEMESH_OPENAI_*",
    "MNEMESH_EMBEDDER*",
    "MNEMESH_OBJECT_STORE*",
    "MNEMESH_GATEWAY_DB_PASSWORD",
    "MNEMESH_GATEWAY_TARGET",
    "MNEMESH_TEST_*",
    "MNEMESH_URL",
    "MNEMESH_API_KEY",
    "MNEMESH_USER_ID",
)
"""Names that the other servers read from the same environment; any other unknown one is a mistake."""
