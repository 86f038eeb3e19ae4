"""From settings and options to what `mnemesh up` will start: which ports, and which process with which environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mesh.cli.ports import LOOPBACK, free_port, is_free, require_free
from mesh.cli.problems import environment_problem
from mesh.cli.services import Service
from mesh.cli.settings import DEFAULT_HTTP_PORT, CliSettings

ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not listened on
STOP_ORDER = (("gateway",), ("engine",), ("engine-worker", "memory-worker"), ("memory",))
"""Who asks is stopped before who answers; PostgreSQL is last."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where everything listens.

    Args:
        http: port of the gateway's HTTP.
        http_host: its address; callers on this machine use `reachable`.
        listen: the gRPC address `host:port` of each server.
    """

    http: int
    http_host: str
    listen: Mapping[str, str]

    @property
    def reachable(self) -> str:
        """The host at which this machine reaches HTTP."""
        return LOOPBACK if self.http_host in ANY_ADDRESS else self.http_host

    def by_name(self) -> dict[str, int]:
        """Return the ports alone, by server, and `http`."""
        grpc_ports = {name: int(address.rpartition(":")[2]) for name, address in self.listen.items()}
        return {"http": self.http, **grpc_ports}


def choose_ports(settings: CliSettings, http_port: int | None, services: Sequence[Service], settle_s: float) -> Ports:
    """Return ports that are free.

    What was chosen must be free, and so must the usual HTTP port, since people type it. A gRPC port that nobody chose
    gives way to another one when it is taken.

    Args:
        settings: of this process.
        http_port: from the command line, or None.
        services: to be started.
        settle_s: how long a mesh that was just killed may still hold its ports.

    Raises:
        Problem: a port is taken; it names the setting that moves it.
    """
    wanted = http_port or settings.http_port or DEFAULT_HTTP_PORT
    remedy = "choose another with --http-port or MNEMESH_HTTP_PORT"
    http = require_free(wanted, remedy, host=settings.http_host, settle_s=settle_s)
    listen: dict[str, str] = {}
    for service in services:
        chosen = settings.listen_of(service.name)
        listen[service.name] = _chosen(chosen, service, settle_s) if chosen else _usual(service)
    return Ports(http, settings.http_host, listen)


def _usual(service: Service) -> str:
    port = service.grpc_port if is_free(service.grpc_port) else free_port()
    return f"{LOOPBACK}:{port}"


def _chosen(address: str, service: Service, settle_s: float) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise environment_problem(
            f"{service.listen_variable} is not an address", f"write it like {LOOPBACK}:{service.grpc_port}"
        )
    require_free(int(port), f"choose another with {service.listen_variable}", host=host.strip("[]"), settle_s=settle_s)
    return address
