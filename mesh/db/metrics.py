"""Numbers of the pool for whoever collects them.

Names are those of the OpenTelemetry semantic conventions for database client connections.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from mesh.db.connections import PoolStats

_meter = metrics.get_meter("mesh.db")


def observe_pool(name: str, stats: Callable[[], PoolStats]) -> None:
    """Publish the numbers of a pool for as long as the pool exists.

    Args:
        name: `db.client.connection.pool.name` of every observation.
        stats: a bound method of the pool; only a weak reference to it is kept.
    """
    reference = weakref.WeakMethod(stats)

    def read(pick: Callable[[PoolStats], dict[str, int]]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observations(_: CallbackOptions) -> Iterable[Observation]:
            current = reference()
            if current is None:
                return []
            picked = pick(current())
            return [Observation(value, _attributes(name, state)) for state, value in picked.items()]

        return observations

    _meter.create_observable_up_down_counter(
        "db.client.connection.count",
        [read(lambda s: {"idle": s.idle, "used": s.in_use})],
        unit="{connection}",
        description="Connections of the pool, by state.",
    )
    _meter.create_observable_up_down_counter(
        "db.client.connection.pending_requests",
        [read(lambda s: {"": s.waiting})],
        unit="{request}",
        description="Callers that wait for a connection.",
    )
    _meter.create_observable_counter(
        "db.client.connection.timeouts",
        [read(lambda s: {"": s.refused})],
        unit="{timeout}",
        description="Callers that got no connection in time.",
    )


def _attributes(pool: str, state: str) -> dict[str, str]:
    attributes = {"db.client.connection.pool.name": pool}
    if state:
        attributes["db.client.connection.state"] = state
    return attributes
