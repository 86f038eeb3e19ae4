"""The service config agrees with the contracts."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from mesh.rpc.service_config import service_config

ROOT = Path(__file__).parents[4]
READS = ("Get", "List", "Search", "Recall")
IDEMPOTENT_WRITES = {"/mnemesh.memory.v1.FactService/LearnFromTurn"}


def _services() -> list[ServiceDescriptor]:
    modules = sorted((ROOT / "gen" / "mnemesh").glob("*/v1/*_service_pb2.py"))
    names = [".".join(path.relative_to(ROOT / "gen").with_suffix("").parts) for path in modules]
    return [service for name in names for service in import_module(name).DESCRIPTOR.services_by_name.values()]


def _methods() -> dict[str, MethodDescriptor]:
    return {f"/{service.full_name}/{method.name}": method for service in _services() for method in service.methods}


def test_every_name_in_the_config_exists() -> None:
    known = set(_methods()) | {f"/{service.full_name}/" for service in _services()}
    assert set(service_config().timeouts_s) <= known


def test_every_method_has_a_timeout() -> None:
    assert _methods()
    assert [path for path in _methods() if service_config().timeout_s(path) is None] == []


def test_only_methods_that_change_nothing_by_repetition_are_retried() -> None:
    for path in service_config().retried - IDEMPOTENT_WRITES:
        assert _methods()[path].name.startswith(READS), path
        assert not _methods()[path].server_streaming


def test_every_unary_read_is_retried() -> None:
    reads = {
        path for path, method in _methods().items() if method.name.startswith(READS) and not method.server_streaming
    }
    assert reads <= service_config().retried


def test_retries_are_for_unavailable_only_and_have_a_budget() -> None:
    config = json.loads(service_config().text)
    policies = [entry["retryPolicy"] for entry in config["methodConfig"] if "retryPolicy" in entry]
    assert policies
    assert all(policy["retryableStatusCodes"] == ["UNAVAILABLE"] for policy in policies)
    assert all(2 <= policy["maxAttempts"] <= 5 for policy in policies)
    assert config["retryThrottling"]["tokenRatio"] <= 0.1
    assert config["loadBalancingConfig"] == [{"round_robin": {}}]


def test_method_of_its_own_wins_over_its_service() -> None:
    config = service_config()
    assert config.timeout_s("/mnemesh.conversation.v1.ConversationService/Converse") == 300
    assert config.timeout_s("/mnemesh.conversation.v1.ConversationService/SomethingNew") == 20
    assert config.timeout_s("/other.v1.Service/Method") is None
