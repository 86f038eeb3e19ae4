"""The servers of a mesh, as data: the commands start them as processes and import none of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from mesh.cli.problems import Problem, usage_problem


@dataclass(frozen=True, slots=True)
class Service:
    """One server.

    Args:
        name: of its package, its schema and its roles.
        grpc_port: where its gRPC listens unless something else is chosen.
        has_worker: True when `python -m <name> work` exists.
        calls: the servers that it calls.
    """

    name: str
    grpc_port: int
    has_worker: bool
    calls: tuple[str, ...] = ()

    @property
    def listen_variable(self) -> str:
        """The setting of the address that its gRPC listens on."""
        return f"MNEMESH_{self.name.upper()}_LISTEN"

    @property
    def target_variable(self) -> str:
        """The setting by which the other servers find it."""
        return f"MNEMESH_{self.name.upper()}_TARGET"


SERVICES = (
    Service("gateway", 50050, has_worker=False, calls=("engine", "memory")),
    Service("engine", 50051, has_worker=True, calls=("memory",)),
    Service("memory", 50052, has_worker=True),
)


CONTRACTS = "mnemesh"
"""The package of what is generated from the contracts."""


def installed_services() -> tuple[Service, ...]:
    """Return the servers whose packages are installed, in the order of `SERVICES`.

    Raises:
        Problem: one is missing, so the installation is broken.
    """
    packages = [*(service.name for service in SERVICES), CONTRACTS]
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise Problem(
            f"the installation lacks {', '.join(missing)}", "install mnemesh again, such as with `make setup`"
        )
    return SERVICES


def service_named(name: str, *, worker: bool = False) -> Service:
    """Return a server by its name.

    Args:
        name: as a person typed it.
        worker: True when it must have a worker.

    Raises:
        Problem: there is none.
    """
    known = {service.name: service for service in SERVICES if service.has_worker or not worker}
    if name not in known:
        kind = "worker" if worker else "server"
        raise usage_problem(f"there is no {kind} called {name!r}", f"choose one of {', '.join(known)}")
    return known[name]
