"""The settings of the engine, each named by the environment variable that sets it."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.usecase.limits import TurnLimits
from mesh.rpc.settings import RpcSettings
from mesh.runtime.serve import DrainSettings
from mesh.runtime.settings import setting
from mesh.telemetry.settings import TelemetrySettings


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine process needs to know.

    Args:
        database_url: database as the engine's runtime role.
        identity_keys: keys shared by every server of the mesh; the first signs, all verify.
        listen: address of its gRPC.
        memory_target: gRPC target of the memory server.
        learn_timeout_s: the deadline of one lesson at memory.
        sweep_interval_s: how often the worker looks for turns whose engine died.
        learn_attempts: how often a lesson is delivered before it is a dead letter; waits grow to five minutes.
        pool_max: most database connections.
        limits: bounds of a turn.
        drain: how the process stops.
    """

    database_url: str = setting(
        "MNEMESH_DATABASE_URL",
        "Database as the server's runtime role; embedded:// and memory:// are started.",
        secret=True,
    )
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
    pool_max: int = setting(
        ("MNEMESH_DB_POOL_MAX", "DB_POOL_MAX"), "Most database connections of one process.", default=10
    )
    limits: TurnLimits = field(default_factory=TurnLimits)
    rpc: RpcSettings = field(default_factory=RpcSettings)
    drain: DrainSettings = field(default_factory=DrainSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
