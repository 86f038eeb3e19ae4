"""Bounds of a gRPC server and of the channels to others. The addresses are each server's own settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Larger than what field rules allow, so that a request which is too large hears which field is."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Certificates of this process. Without them, connections are plain, for loopback and meshes that encrypt below.

    Args:
        cert_file: PEM chain that this process shows, as server and as client.
        key_file: PEM private key of it.
        ca_file: PEM authorities that must have certified the peer; a server with it refuses clients without one.
    """

    cert_file: Path | None = field(
        default=None,
        metadata={
            "env": "MNEMESH_TLS_CERT_FILE",
            "doc": "PEM certificate chain for gRPC; unset: plain connections.",
        },
    )
    key_file: Path | None = field(
        default=None,
        metadata={"env": "MNEMESH_TLS_KEY_FILE", "doc": "PEM private key of MNEMESH_TLS_CERT_FILE."},
    )
    ca_file: Path | None = field(
        default=None,
        metadata={
            "env": "MNEMESH_TLS_CA_FILE",
            "doc": "PEM authorities of peers; servers then demand certificates.",
        },
    )

    def __post_init__(self) -> None:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("MNEMESH_TLS_CERT_FILE and MNEMESH_TLS_KEY_FILE must be set together")


@dataclass(frozen=True, slots=True)
class RpcSettings:
    """How a server takes calls.

    Args:
        listen: address, such as `0.0.0.0:50051`, `127.0.0.1:0` (any free port) or `unix:/run/engine.sock`.
        also_listen: more addresses of the same kinds.
        max_message_bytes: largest request that is read.
        max_concurrent_rpcs: bound of unary calls in progress.
        max_concurrent_streams: bound of streaming calls in progress.
        default_deadline_s: for calls that come without a deadline; streams of the server get the longest instead.
        max_deadline_s: longest life of any call.
        max_connection_age_s: connections are closed softly after this time, so that clients spread over new replicas.
        drain_s: longest wait for calls in progress when `stop` is not told another.
        reflection: serve `grpc.reflection.v1alpha`.
        access_log: log every call and not only those that failed.
        tls: certificates.
    """

    listen: str = "127.0.0.1:0"
    also_listen: tuple[str, ...] = ()
    max_message_bytes: int = MAX_MESSAGE_BYTES
    max_concurrent_rpcs: int = field(
        default=1000,
        metadata={"env": "MNEMESH_RPC_MAX_CONCURRENT", "doc": "Unary calls in progress; more are refused at once."},
    )
    max_concurrent_streams: int = field(
        default=2000,
        metadata={"env": "MNEMESH_RPC_MAX_STREAMS", "doc": "Streaming calls in progress; more are refused at once."},
    )
    default_deadline_s: float = field(
        default=30.0,
        metadata={"env": "MNEMESH_RPC_DEFAULT_DEADLINE_SECONDS", "doc": "Deadline of unary calls that set none."},
    )
    max_deadline_s: float = field(
        default=600.0,
        metadata={"env": "MNEMESH_RPC_MAX_DEADLINE_SECONDS", "doc": "Longest life of a call, streams included."},
    )
    max_connection_age_s: float = 300.0
    drain_s: float = 10.0
    reflection: bool = field(
        default=True,
        metadata={"env": "MNEMESH_RPC_REFLECTION", "doc": "Serve gRPC reflection, so that grpcurl finds the methods."},
    )
    access_log: bool = field(
        default=False,
        metadata={"env": "MNEMESH_ACCESS_LOG", "doc": "Log every call; otherwise only calls that failed."},
    )
    tls: TlsSettings = TlsSettings()

    def __post_init__(self) -> None:
        bounds = (self.max_concurrent_rpcs, self.max_concurrent_streams, self.default_deadline_s, self.max_deadline_s)
        if min(bounds) <= 0 or self.drain_s < 0:
            raise ValueError("bounds of MNEMESH_RPC_* must be positive")


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """How a client calls another server.

    Args:
        margin_s: taken off the remaining time of the current call, so that the answer to a late call can still be sent.
        default_timeout_s: for methods that the service config does not name.
        max_message_bytes: largest response that is read.
        tls: certificates; with `ca_file` the connection is encrypted.
    """

    margin_s: float = 0.05
    default_timeout_s: float = 30.0
    max_message_bytes: int = MAX_MESSAGE_BYTES
    tls: TlsSettings = TlsSettings()
