"""What a process tells about itself, and to whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

LogFormat = Literal["auto", "json", "text"]


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Logs, traces and metrics of one process.

    Args:
        log_level: least severe level that is written.
        log_format: `auto` is text on a terminal and JSON otherwise.
        otlp_endpoint: OTLP/gRPC receiver of traces and metrics; empty sends nothing.
        trace_sample_ratio: share of new traces that are recorded; a caller's decision wins.
        metrics_interval_s: seconds between two exports of metrics.
        stall_threshold_s: a pause of the event loop that is logged; 0 turns the watchdog off.
    """

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = field(
        default="INFO",
        metadata={"env": "MNEMESH_LOG_LEVEL", "doc": "Least severe level of log lines that are written."},
    )
    log_format: LogFormat = field(
        default="auto",
        metadata={"env": "MNEMESH_LOG_FORMAT", "doc": "Form of log lines; auto is text on a terminal, else JSON."},
    )
    otlp_endpoint: str = field(
        default="",
        metadata={
            "env": "MNEMESH_OTLP_ENDPOINT",
            "doc": "OTLP/gRPC receiver of traces and metrics, such as http://collector:4317; empty sends none.",
        },
    )
    trace_sample_ratio: float = field(
        default=0.01,
        metadata={"env": "MNEMESH_TRACE_SAMPLE_RATIO", "doc": "Share of new traces that are recorded, 0 to 1."},
    )
    metrics_interval_s: float = field(
        default=30.0,
        metadata={"env": "MNEMESH_METRICS_INTERVAL_SECONDS", "doc": "Seconds between two exports of metrics."},
    )
    stall_threshold_s: float = field(
        default=0.5,
        metadata={"env": "MNEMESH_STALL_SECONDS", "doc": "Pause of the event loop that is logged; 0 for never."},
    )

    def __post_init__(self) -> None:
        if not 0 <= self.trace_sample_ratio <= 1:
            raise ValueError("MNEMESH_TRACE_SAMPLE_RATIO must be between 0 and 1")
        if self.metrics_interval_s <= 0 or self.stall_threshold_s < 0:
            raise ValueError("MNEMESH_METRICS_INTERVAL_SECONDS must be positive and MNEMESH_STALL_SECONDS not negative")
