"""Ports: a taken one is named with the setting that moves it; a usual one that nobody chose gives way."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from mesh.cli.plan import choose_ports
from mesh.cli.ports import free_port, is_free, require_free
from mesh.cli.problems import ExitCode, Problem
from mesh.cli.services import SERVICES
from mesh.cli.settings import CliSettings


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_http_port_is_named_with_its_setting(taken: int) -> None:
    with pytest.raises(Problem) as caught:
        choose_ports(CliSettings(), taken, SERVICES, settle_s=0)
    assert str(caught.value) == (
        f"port {taken} is taken by another program: choose another with --http-port or MNEMESH_HTTP_PORT"
    )
    assert caught.value.exit_code == ExitCode.ENVIRONMENT


def test_a_taken_grpc_port_that_was_chosen_is_named_with_its_setting(taken: int) -> None:
    settings = CliSettings(engine_listen=f"127.0.0.1:{taken}")
    with pytest.raises(Problem, match=f"port {taken} .*MNEMESH_ENGINE_LISTEN"):
        choose_ports(settings, free_port(), SERVICES, settle_s=0)


def test_a_usual_grpc_port_that_is_taken_gives_way(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {service.name: service.grpc_port for service in SERVICES}
    monkeypatch.setattr("mesh.cli.plan.is_free", lambda port: port != usual["memory"])
    ports = choose_ports(CliSettings(), free_port(), SERVICES, settle_s=0).by_name()
    assert ports["memory"] not in usual.values()
    assert ports["engine"] == usual["engine"]


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(Problem, match="MNEMESH_MEMORY_LISTEN is not an address"):
        choose_ports(CliSettings(memory_listen="50052"), free_port(), SERVICES, settle_s=0)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(Problem, match="is not a port"):
        is_free(port)


def test_a_port_that_is_just_being_left_is_waited_for() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    threading.Timer(0.2, server.close).start()
    assert require_free(port, "", settle_s=10) == port
