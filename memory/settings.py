"""The settings of the memory server, each named by the environment variable that sets it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from memory.domain.chunking import DEFAULT_CHUNK_CHARS
from memory.usecase.remember import DEFAULT_MERGE_DISTANCE
from mesh.db.settings import DatabaseSettings
from mesh.models.settings import ModelSettings
from mesh.rpc.settings import RpcSettings
from mesh.runtime.serve import DrainSettings
from mesh.runtime.settings import setting
from mesh.telemetry.settings import TelemetrySettings

MIN_CHUNK_CHARS = 64


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """What a memory process needs to know.

    Args:
        database: how PostgreSQL is reached, as the runtime role.
        identity_keys: keys shared by every server of the mesh; the first signs, all verify.
        listen: address of its gRPC.
        chunk_chars: most characters of a chunk.
        merge_distance: cosine distance below which two values of one key are the same.
        learn_embed_timeout_s: how long a lesson waits for vectors.
        extract_timeout_s: how long a language model may take to extract facts.
        backlog_interval_s: how often the worker looks for rows without a vector.
        home: directory of the mesh on this machine; empty when it has none.
        cache_home: where the system keeps caches of users, by the XDG base directory specification.
        models: which embedder and which extractor.
        drain: how the process stops.
    """

    identity_keys: tuple[str, ...] = setting(
        "MNEMESH_IDENTITY_KEYS",
        "Comma-separated keys that sign identity between servers, 32 bytes or more.",
        secret=True,
    )
    listen: str = setting("MNEMESH_MEMORY_LISTEN", "Address of memory's gRPC.", default="127.0.0.1:50052")
    chunk_chars: int = setting(
        "MNEMESH_MEMORY_CHUNK_CHARS", "Most characters of a chunk of evidence.", default=DEFAULT_CHUNK_CHARS
    )
    merge_distance: float = setting(
        "MNEMESH_MEMORY_MERGE_DISTANCE",
        "Cosine distance below which two values of one key are one fact; 0 merges equal words only.",
        default=DEFAULT_MERGE_DISTANCE,
    )
    learn_embed_timeout_s: float = setting(
        "MNEMESH_MEMORY_LEARN_EMBED_SECONDS",
        "Seconds that learning waits for vectors before the worker has to make them.",
        default=5.0,
    )
    extract_timeout_s: float = setting(
        "MNEMESH_MEMORY_EXTRACT_SECONDS", "Seconds that a language model may take to extract facts.", default=45.0
    )
    backlog_interval_s: float = setting(
        "MNEMESH_MEMORY_BACKLOG_SECONDS", "Seconds between two looks for rows that have no vector yet.", default=5.0
    )
    home: str = setting("MNEMESH_HOME", "Directory of everything that is kept on this machine.", default="")
    cache_home: str = setting("XDG_CACHE_HOME", "Where the system keeps caches of users.", default="~/.cache")
    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    rpc: RpcSettings = field(default_factory=RpcSettings)
    drain: DrainSettings = field(default_factory=DrainSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)

    @property
    def model_cache(self) -> Path:
        """Where the built-in embedder keeps its prepared model."""
        place = Path(self.home) if self.home else Path(self.cache_home) / "mnemesh"
        return place.expanduser() / "models"

    def __post_init__(self) -> None:
        if self.chunk_chars < MIN_CHUNK_CHARS:
            raise ValueError(f"MNEMESH_MEMORY_CHUNK_CHARS must be at least {MIN_CHUNK_CHARS}")
        if not 0 <= self.merge_distance < 1:
            raise ValueError("MNEMESH_MEMORY_MERGE_DISTANCE must be at least 0 and less than 1")
        if min(self.learn_embed_timeout_s, self.extract_timeout_s, self.backlog_interval_s) <= 0:
            raise ValueError("MNEMESH_MEMORY_*_SECONDS must be positive")


@dataclass(frozen=True, slots=True)
class MigrateSettings:
    """What `python -m memory migrate` needs to know.

    Args:
        admin_url: database as a role that may create roles and schemas.
        password: new password of the runtime role; empty leaves the one that it has.
    """

    admin_url: str = setting(
        "MNEMESH_ADMIN_DATABASE_URL", "Database as a role that may create roles, for migrations.", secret=True
    )
    password: str = setting(
        "MNEMESH_MEMORY_DB_PASSWORD",
        "Password to give the runtime role mnemesh_memory when migrating; unset leaves it as it is.",
        default="",
        secret=True,
    )


OTHERS_VARIABLES = (
    "MNEMESH_ADMIN_DATABASE_URL",
    "MNEMESH_MEMORY_DB_PASSWORD",
    "MNEMESH_MEMORY_TARGET",
    "MNEMESH_HTTP_*",
    "MNEMESH_AUTH_*",
    "MNEMESH_PG_*",
    "MNEMESH_GATEWAY_*",
    "MNEMESH_ENGINE_*",
    "MNEMESH_OBJECT_STORE*",
    "MNEMESH_TEST_*",
)
"""Names that are no mistake in this process's environment, because other parts of a mesh read them."""
