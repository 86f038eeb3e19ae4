"""Which processes `mnemesh up` starts, each with its environment, its log and its way of telling that it is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mesh.cli.home import Credentials, Home
from mesh.cli.plan import Ports
from mesh.cli.probes import grpc_is_ready, http_is_ready
from mesh.cli.services import Service
from mesh.cli.settings import CLI_ONLY
from mesh.cli.supervisor import ChildSpec

GATEWAY = "gateway"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every process is given: the environment of `up`, and the keys that sign identity."""

    inherited: Mapping[str, str]
    credentials: Credentials


def child_specs(
    services: Sequence[Service],
    ports: Ports,
    database_urls: Mapping[str, str],
    home: Home,
    surroundings: Surroundings,
) -> list[ChildSpec]:
    """Return the processes to start: each server, and each worker.

    Args:
        services: to be started.
        ports: where they listen.
        database_urls: of the runtime role of each server.
        home: whose mesh it is.
        surroundings: what every process is given.
    """
    specs: list[ChildSpec] = []
    for service in services:
        env = _environment(service, services, ports, home, surroundings)
        env["MNEMESH_DATABASE_URL"] = database_urls[service.name]
        specs.append(_server(service, env, ports, home))
        if service.has_worker:
            specs.append(_worker(service, env, home))
    return specs


def _server(service: Service, env: Mapping[str, str], ports: Ports, home: Home) -> ChildSpec:
    target = ports.listen[service.name]

    async def ready() -> bool:
        if service.name == GATEWAY and not await http_is_ready(f"{ports.reachable}:{ports.http}"):
            return False
        return await grpc_is_ready(target)

    return ChildSpec(service.name, service.name, ("serve",), env, home.log / f"{service.name}.log", ready)


def _worker(service: Service, env: Mapping[str, str], home: Home) -> ChildSpec:
    name = f"{service.name}-worker"
    return ChildSpec(name, service.name, ("work",), env, home.log / f"{name}.log")


def _environment(
    service: Service,
    services: Sequence[Service],
    ports: Ports,
    home: Home,
    surroundings: Surroundings,
) -> dict[str, str]:
    env = {name: value for name, value in surroundings.inherited.items() if name not in CLI_ONLY}
    for other in services:
        if other.name in service.calls:
            env[other.target_variable] = ports.listen[other.name]
    env[service.listen_variable] = ports.listen[service.name]
    env["MNEMESH_HOME"] = str(home.root)
    env["MNEMESH_IDENTITY_KEYS"] = ",".join(surroundings.credentials.identity_keys)
    if service.name == GATEWAY:
        env["MNEMESH_HTTP_PORT"] = str(ports.http)
    return env
