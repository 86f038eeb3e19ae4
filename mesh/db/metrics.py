"""Numbers of the pools of this process for whoever collects them.

Names are those of the OpenTelemetry semantic conventions for database client connections.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from mesh.db.connections import PoolStats


class Pool(Protocol):
    """What is observed."""

    def stats(self) -> PoolStats:
        """Return the current numbers."""
        ...


_pools: weakref.WeakKeyDictionary[Pool, str] = weakref.WeakKeyDictionary()
"""Every open pool with its name. OpenTelemetry wants one instrument of a name, whatever number of pools it reads."""


def observe_pool(name: str, pool: Pool) -> None:
    """Publish the numbers of a pool for as long as it exists, under `db.client.connection.pool.name`."""
    _pools[pool] = name


def _observations(pick: Callable[[PoolStats], Mapping[str, int]]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(_: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(value, {"db.client.connection.pool.name": name} | ({_STATE: state} if state else {}))
            for pool, name in list(_pools.items())
            for state, value in pick(pool.stats()).items()
        ]

    return read


_STATE = "db.client.connection.state"
_meter = metrics.get_meter("mnemesh")
_meter.create_observable_up_down_counter(
    "db.client.connection.count",
    [_observations(lambda stats: {"idle": stats.idle, "used": stats.in_use})],
    unit="{connection}",
    description="Connections of the pool, by state.",
)
_meter.create_observable_up_down_counter(
    "db.client.connection.pending_requests",
    [_observations(lambda stats: {"": stats.waiting})],
    unit="{request}",
    description="Callers that wait for a connection.",
)
_meter.create_observable_counter(
    "db.client.connection.timeouts",
    [_observations(lambda stats: {"": stats.refused})],
    unit="{timeout}",
    description="Callers that got no connection in time.",
)
