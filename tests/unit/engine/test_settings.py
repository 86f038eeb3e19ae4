"""The settings of the engine as the environment gives them."""

from __future__ import annotations

import pytest

from engine.settings import OTHERS_VARIABLES, EngineSettings
from mesh.kernel.errors import FailedPrecondition
from mesh.runtime.settings import load

LEAST = {"MNEMESH_DATABASE_URL": "postgresql://u:secret@h/d", "MNEMESH_IDENTITY_KEYS": "a" * 32 + "," + "b" * 32}


def test_the_least_that_must_be_set_is_enough() -> None:
    settings = load(EngineSettings, LEAST, known=OTHERS_VARIABLES)

    assert settings.identity_keys == ("a" * 32, "b" * 32)
    assert (settings.listen, settings.memory_target) == ("127.0.0.1:50051", "127.0.0.1:50052")
    assert settings.limits.lease_s == 3 * settings.limits.heartbeat_s == 30.0
    assert settings.limits.recall_budget_s == 0.3
    assert "secret" not in repr(settings)
    assert "aaaa" not in repr(settings)


def test_names_of_other_programs_are_no_mistake_and_misspelt_ones_are() -> None:
    others = {"MNEMESH_HTTP_PORT": "1", "MNEMESH_GATEWAY_LISTEN": "x", "MNEMESH_HOME": "/x", "GEMINI_API_KEY": "k"}
    load(EngineSettings, {**LEAST, **others}, known=OTHERS_VARIABLES)

    with pytest.raises(FailedPrecondition, match="MNEMESH_ENGINE_LEASE_SECONDS"):
        load(EngineSettings, {**LEAST, "MNEMESH_ENGINE_LEASE_SECOND": "5"}, known=OTHERS_VARIABLES)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MNEMESH_ENGINE_LEASE_SECONDS", "0"),
        ("MNEMESH_ENGINE_RECALL_LIMIT", "101"),
        ("MNEMESH_ENGINE_HISTORY_CHARS", "x"),
    ],
)
def test_limits_that_make_no_sense_are_refused(name: str, value: str) -> None:
    with pytest.raises(FailedPrecondition, match=name.rpartition("_")[0]):
        load(EngineSettings, {**LEAST, name: value}, known=OTHERS_VARIABLES)
