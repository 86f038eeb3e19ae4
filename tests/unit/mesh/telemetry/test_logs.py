"""Log lines: form, ids, and secrets that stay out."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.telemetry.context import REQUEST_ID, TENANT_ID, TRACE, TraceContext
from mesh.telemetry.logs import JsonFormatter, TextFormatter, configure_logging
from mesh.telemetry.redaction import HIDDEN, hides, redact, redact_text

LOG = logging.getLogger("mesh.tests.logs")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Configured logging into a text; the test run's own logging comes back afterwards."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    yield stream
    root.handlers[:], level = before
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_line_is_one_json_object_with_its_fields(stream: io.StringIO) -> None:
    configure_logging("engine", "INFO", stream=stream)
    LOG.info("turn %s done", 7, extra={"turn_id": "t1", "tokens": 12})
    LOG.debug("not written")
    (line,) = _lines(stream)
    assert datetime.fromisoformat(line.pop("time")).tzinfo == UTC
    assert line == {
        "level": "INFO",
        "service": "engine",
        "logger": "mesh.tests.logs",
        "message": "turn 7 done",
        "turn_id": "t1",
        "tokens": 12,
    }


def test_line_carries_the_ids_of_the_work(stream: io.StringIO) -> None:
    configure_logging("engine", stream=stream)
    tokens = REQUEST_ID.set("r-1"), TENANT_ID.set("acme"), TRACE.set(TraceContext("a" * 32, "b" * 16, sampled=True))
    try:
        LOG.info("inside")
    finally:
        REQUEST_ID.reset(tokens[0])
        TENANT_ID.reset(tokens[1])
        TRACE.reset(tokens[2])
    LOG.info("outside")
    inside, outside = _lines(stream)
    ids = {"request_id": "r-1", "tenant_id": "acme", "trace_id": "a" * 32, "span_id": "b" * 16}
    assert ids.items() <= inside.items()
    assert not ids.keys() & outside.keys()


def test_message_is_without_secrets(stream: io.StringIO) -> None:
    configure_logging("engine", log_format="json", stream=stream)
    LOG.info("connecting to %s", "postgresql://app:hunter2@h/db")
    configure_logging("engine", log_format="text", stream=stream)
    LOG.info("connecting to %s", "postgresql://app:hunter2@h/db")
    assert stream.getvalue().count("postgresql://app:***@h/db") == 2


def test_text_with_line_breaks_stays_one_line(stream: io.StringIO) -> None:
    configure_logging("engine", stream=stream)
    LOG.info('two\nlines and {"json": true}', extra={"field": "a\nb"})
    assert _lines(stream)[0]["message"] == 'two\nlines and {"json": true}'


def test_exception_is_one_field_without_secrets(stream: io.StringIO) -> None:
    configure_logging("engine", stream=stream)
    try:
        raise OSError("cannot reach postgresql://app:hunter2@10.0.0.1/db")
    except OSError:
        LOG.exception("failed")
    (line,) = _lines(stream)
    assert "OSError: cannot reach postgresql://app:***@10.0.0.1/db" in line["exception"]
    assert "hunter2" not in stream.getvalue()


def test_values_that_json_does_not_know_are_written_as_text(stream: io.StringIO) -> None:
    configure_logging("engine", stream=stream)
    LOG.info("x", extra={"odd": {"when": datetime(2030, 1, 1, tzinfo=UTC), 3: {1}}, "big": 2**70, "nan": float("nan")})
    (line,) = _lines(stream)
    assert line["big"] == 2**70
    assert line["odd"] == {"when": "2030-01-01 00:00:00+00:00", "3": [1]}


def test_half_of_a_surrogate_pair_is_written_all_the_same(stream: io.StringIO) -> None:
    configure_logging("engine", stream=stream)
    LOG.info("bad \ud800 text", extra={"field": "\udfff"})
    assert _lines(stream)[0]["message"] == "bad \ud800 text"


def test_configuring_again_replaces_and_does_not_double(stream: io.StringIO) -> None:
    configure_logging("engine", stream=stream)
    configure_logging("memory", stream=stream)
    LOG.info("once")
    assert [line["service"] for line in _lines(stream)] == ["memory"]


def test_libraries_that_talk_much_are_heard_from_warning_on(stream: io.StringIO) -> None:
    configure_logging("engine", "DEBUG", stream=stream)
    logging.getLogger("httpx").info("HTTP Request: GET")
    logging.getLogger("httpx").warning("odd")
    assert [line["message"] for line in _lines(stream)] == ["odd"]


def test_terminal_gets_readable_text(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    configure_logging("engine", stream=stream)
    LOG.warning("slow", extra={"api_key": "k-123", "seconds": 2})
    assert "W engine mesh.tests.logs: slow api_key=*** seconds=2" in stream.getvalue()


@pytest.mark.parametrize("formatter", [JsonFormatter("x"), TextFormatter("x")])
def test_format_can_be_forced(formatter: logging.Formatter) -> None:
    record = logging.makeLogRecord({"msg": "m", "name": "n", "levelno": 20, "levelname": "INFO"})
    assert "m" in formatter.format(record)


@pytest.mark.parametrize(
    "name",
    [
        *("password", "PGPASSWORD", "x-api-key", "apiKey", "gemini_api_key", "Authorization", "x-mnemesh-identity"),
        *("dsn", "refresh_token", "client_secret", "cookie", "credentials", "private_key", "conninfo"),
    ],
)
def test_fields_that_name_a_secret_are_hidden(name: str) -> None:
    assert hides(name)
    assert redact(name, "value") == HIDDEN
    assert redact("outer", {"inner": [{name: "value"}]}) == {"inner": [{name: HIDDEN}]}


@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "message", "key", "tenant_id", "author", "reason"])
def test_other_fields_are_shown(name: str) -> None:
    assert redact(name, "value") == "value"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:p%40ss@h:5432/db?x=1", "postgresql://u:***@h:5432/db?x=1"),
        ("https://h/path?api_key=abc&x=1", "https://h/path?api_key=***&x=1"),
        ("GET /v1?key=AIza123", "GET /v1?key=***"),
        ("Authorization: Bearer abc.def-1", "Authorization: Bearer ***"),
        ("host=h password=p user=u", "host=h password=*** user=u"),
        ("token eyJhbGciOi.eyJzdWIi.c2ln tail", "token *** tail"),
        ("http://localhost:8080/a@b", "http://localhost:8080/a@b"),
        ("ratio 3:4 at 10:20@noon", "ratio 3:4 at 10:20@noon"),
    ],
)
def test_secrets_in_texts_are_hidden_and_nothing_else(text: str, shown: str) -> None:
    assert redact_text(text) == shown


@given(st.from_regex(r"[A-Za-z0-9!$%^*_+-]{8,20}", fullmatch=True))
def test_password_of_a_url_never_shows(password: str) -> None:
    assert password not in redact_text(f"dial postgresql://app:{password}@h/db failed").replace("***", "")


@given(st.text(max_size=200))
def test_redaction_is_stable_and_raises_nothing(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once
