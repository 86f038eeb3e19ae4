"""The settings of the engine, each named by the environment variable that sets it."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.usecase.limits import TurnLimits
from mesh.db.settings import DatabaseSettings
from mesh.models.settings import ModelSettings
from mesh.rpc.settings import RpcSettings
from mesh.runtime.serve import DrainSettings
from mesh.runtime.settings import setting
from mesh.telemetry.settings import TelemetrySettings


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine process needs to know.

    Args:
        database: how PostgreSQL is reached, as the runtime role.
        identity_keys: keys shared by every server of the mesh; the first signs, all verify.
        listen: address of its gRPC.
        memory_target: gRPC target of the memory server.
        learn_timeout_s: the deadline of one lesson at memory.
        sweep_interval_s: how often the worker looks for turns whose engine died.
        learn_attempts: how often a lesson is delivered before it is a dead letter; waits grow to five minutes.
        relay_lease_s: how long lessons stay claimed by a worker that gives no sign of life.
        model: who answers.
        limits: bounds of a turn.
        drain: how the process stops.
    """

    identity_keys: tuple[str, ...] = setting(
        "MNEMESH_IDENTITY_KEYS",
        "Comma-separated keys that sign identity between servers, 32 bytes or more.",
        secret=True,
    )
    listen: str = setting("MNEMESH_ENGINE_LISTEN", "Address of the engine's gRPC.", default="127.0.0.1:50051")
    memory_target: str = setting("MNEMESH_MEMORY_TARGET", "gRPC target of memory.", default="127.0.0.1:50052")
    learn_timeout_s: float = setting(
        "MNEMESH_ENGINE_LEARN_TIMEOUT_SECONDS", "Seconds that memory may take to learn from one turn.", default=60.0
    )
    sweep_interval_s: float = setting(
        "MNEMESH_ENGINE_SWEEP_SECONDS", "Seconds between two looks for turns whose engine died.", default=5.0
    )
    learn_attempts: int = setting(
        "MNEMESH_ENGINE_LEARN_ATTEMPTS", "Deliveries of a lesson, over hours, before it is a dead letter.", default=50
    )
    relay_lease_s: float = setting(
        "MNEMESH_ENGINE_RELAY_LEASE_SECONDS",
        "Seconds after which another worker takes over the lessons of a worker that was killed.",
        default=20.0,
    )
    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    limits: TurnLimits = field(default_factory=TurnLimits)
    rpc: RpcSettings = field(default_factory=RpcSettings)
    drain: DrainSettings = field(default_factory=DrainSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)


@dataclass(frozen=True, slots=True)
class MigrateSettings:
    """What `python -m engine migrate` needs to know.

    Args:
        admin_url: database as a role that may create roles and schemas.
        password: new password of the runtime role; empty leaves the one that it has.
    """

    admin_url: str = setting(
        "MNEMESH_ADMIN_DATABASE_URL", "Database as a role that may create roles, for migrations.", secret=True
    )
    password: str = setting(
        "MNEMESH_ENGINE_DB_PASSWORD",
        "Password to give the runtime role mnemesh_engine when migrating; unset leaves it as it is.",
        default="",
        secret=True,
    )


OTHERS_VARIABLES = (
    "MNEMESH_ADMIN_DATABASE_URL",
    "MNEMESH_API_KEY",
    "MNEMESH_AUTH_MODE",
    "MNEMESH_EMBEDDER*",
    "MNEMESH_ENGINE_DB_PASSWORD",
    "MNEMESH_ENGINE_TARGET",
    "MNEMESH_GATEWAY_*",
    "MNEMESH_HOME",
    "MNEMESH_HTTP_*",
    "MNEMESH_MEMORY_*",
    "MNEMESH_OBJECT_STORE*",
    "MNEMESH_PG_*",
    "MNEMESH_TEST_*",
    "MNEMESH_URL",
    "MNEMESH_USER_ID",
)
"""Names that other programs read from the same environment; any other unknown one is a mistake."""
