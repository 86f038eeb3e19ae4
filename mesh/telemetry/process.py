"""Everything that a process tells about itself, set up by one call and flushed by another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mesh.telemetry.logs import configure_logging
from mesh.telemetry.metrics import configure_metrics
from mesh.telemetry.settings import TelemetrySettings
from mesh.telemetry.traces import configure_tracing


class Telemetry:
    """Logs, traces and metrics of this process."""

    def __init__(self, service: str, settings: TelemetrySettings) -> None:
        """Configure the process.

        Raises:
            FailedPrecondition: CONFIGURATION_INVALID, an OTLP endpoint is set and the `otlp` extra is not installed.
        """
        configure_logging(service, settings.log_level, settings.log_format)
        tracing = configure_tracing(service, settings)
        self._flushes: tuple[Callable[[], None], ...] = (tracing.shutdown, configure_metrics(service, settings))

    async def close(self) -> None:
        """Send what has not been sent; it takes at most some seconds and does not block the loop."""
        for flush in self._flushes:
            await asyncio.to_thread(flush)
