"""Log lines: the standard library's logging, one JSON object a line, under the ids of the work that wrote them.

`extra={"reason": ...}` becomes fields of the line. Secrets are removed on the way out, wherever they came from. On a
terminal the same lines are readable text.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

from mesh.telemetry.context import REQUEST_ID, TENANT_ID, TRACE
from mesh.telemetry.redaction import redact, redact_text
from mesh.telemetry.settings import LogFormat

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_TALKATIVE = ("asyncio", "grpc", "httpx", "httpcore", "urllib3", "opentelemetry", "uvicorn.access")
_LEVEL_LETTERS = {logging.DEBUG: "D", logging.INFO: "I", logging.WARNING: "W", logging.ERROR: "E"}


def configure_logging(
    service: str, level: str = "INFO", log_format: LogFormat = "auto", stream: TextIO | None = None
) -> None:
    """Send everything that is logged in this process to one stream. Calling it again replaces the first call.

    Args:
        service: the process's name in every line.
        level: least severe level that is written.
        log_format: `json`, `text`, or `auto`: text when the stream is a terminal.
        stream: standard error by default.
    """
    stream = stream or sys.stderr
    as_json = log_format == "json" or (log_format == "auto" and not stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(service) if as_json else TextFormatter(service))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)


class JsonFormatter(logging.Formatter):
    """One JSON object a line; keys in the order in which a reader looks for them."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "service": self._service,
            "logger": record.name,
            "message": redact_text(record.getMessage()),
            **_ids(),
        }
        for name, value in _extras(record).items():
            line.setdefault(name, value)
        if record.exc_info:
            line["exception"] = redact_text(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = redact_text(record.stack_info)
        try:
            return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError:  # half a surrogate pair, or a number beyond 64 bits
            return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """The same for people: time, level, logger, message, fields."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S.%f")[:-3]
        letter = _LEVEL_LETTERS.get(record.levelno, record.levelname)
        fields = "".join(f" {name}={value}" for name, value in {**_extras(record), **_ids()}.items())
        text = f"{at} {letter} {self._service} {record.name}: {redact_text(record.getMessage())}{fields}"
        if record.exc_info:
            text += "\n" + redact_text(self.formatException(record.exc_info))
        return text


def _ids() -> Mapping[str, str]:
    ids = {"request_id": REQUEST_ID.get(), "tenant_id": TENANT_ID.get()}
    trace = TRACE.get()
    if trace is not None:
        ids["trace_id"], ids["span_id"] = trace.trace_id, trace.span_id
    return {name: value for name, value in ids.items() if value}


def _extras(record: logging.LogRecord) -> Mapping[str, Any]:
    return {name: redact(name, value) for name, value in vars(record).items() if name not in _STANDARD}
