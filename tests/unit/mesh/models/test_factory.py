"""Settings and factory: who answers, who makes vectors, and what is said when something is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.models.factory import embedder, language_model, structured_model, warm_up
from mesh.models.protocols import EmbeddingSpace
from mesh.models.settings import ModelSettings
from mesh.runtime.settings import load

KEY = "AIza-secret"


@pytest.mark.parametrize(
    ("environ", "provider"),
    [
        ({}, "builtin"),
        ({"GEMINI_API_KEY": KEY}, "gemini"),
        ({"MNEMESH_OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "openai"),
        ({"GEMINI_API_KEY": KEY, "MNEMESH_OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "gemini"),
        ({"GEMINI_API_KEY": KEY, "MNEMESH_MODEL_PROVIDER": "builtin"}, "builtin"),
    ],
)
def test_provider_follows_what_is_configured(environ: dict[str, str], provider: str) -> None:
    assert load(ModelSettings, environ, known=()).language_provider() == provider


@pytest.mark.parametrize(
    ("environ", "stored", "provider"),
    [
        ({}, None, "builtin"),
        ({"GEMINI_API_KEY": KEY}, None, "gemini"),
        ({"GEMINI_API_KEY": KEY}, EmbeddingSpace("builtin", "minilm-l6-v2-int8"), "builtin"),
        ({"GEMINI_API_KEY": KEY, "MNEMESH_EMBEDDER": "minilm"}, None, "builtin"),
        (
            {"GEMINI_API_KEY": KEY, "MNEMESH_EMBEDDER": "gemini"},
            EmbeddingSpace("builtin", "minilm-l6-v2-int8"),
            "gemini",
        ),
        ({"MNEMESH_OPENAI_BASE_URL": "http://h/v1"}, None, "builtin"),
        ({"MNEMESH_OPENAI_BASE_URL": "http://h/v1", "MNEMESH_OPENAI_EMBEDDING_MODEL": "e"}, None, "openai"),
        ({}, EmbeddingSpace("gemini", "gemini-embedding-001"), "gemini"),
    ],
)
def test_embedder_that_nobody_chose_keeps_to_the_stored_vectors(
    environ: dict[str, str], stored: EmbeddingSpace | None, provider: str
) -> None:
    assert load(ModelSettings, environ).embedding_provider(stored) == provider


def test_unknown_stored_provider_is_a_space_mismatch() -> None:
    with pytest.raises(FailedPrecondition) as caught:
        ModelSettings().embedding_provider(EmbeddingSpace("other", "x"))
    assert caught.value.reason is Reason.EMBEDDING_SPACE_MISMATCH


@pytest.mark.parametrize(
    "environ",
    [
        {"MNEMESH_MODEL_PROVIDER": "other"},
        {"MNEMESH_EMBEDDER": "other"},
        {"MNEMESH_MODEL_ATTEMPTS": "0"},
        {"MNEMESH_MODEL_STALL_SECONDS": "0"},
        {"MNEMESH_EMBEDDER_THREADS": "x"},
        {"MNEMESH_MODEL_PROVIDR": "builtin"},
    ],
)
def test_wrong_settings_are_refused(environ: dict[str, str]) -> None:
    with pytest.raises(FailedPrecondition):
        load(ModelSettings, environ, known=())


def test_secrets_are_in_no_representation() -> None:
    settings = load(ModelSettings, {"GEMINI_API_KEY": KEY, "MNEMESH_OPENAI_API_KEY": KEY})
    assert settings.gemini_api_key == KEY
    assert KEY not in repr(settings)
    assert KEY not in repr(ModelSettings(gemini_api_key=KEY, openai_api_key=KEY))


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        (ModelSettings(provider="gemini"), "GEMINI_API_KEY"),
        (ModelSettings(provider="openai", openai_model="m"), "MNEMESH_OPENAI_BASE_URL"),
        (ModelSettings(provider="openai", openai_base_url="http://h/v1"), "MNEMESH_OPENAI_MODEL"),
    ],
)
def test_missing_setting_is_named(settings: ModelSettings, missing: str) -> None:
    for make in (language_model, structured_model):
        with pytest.raises(FailedPrecondition) as caught:
            make(settings)
        assert caught.value.reason is Reason.CONFIGURATION_INVALID
        assert missing in caught.value.message


def test_openai_embedder_needs_a_model(tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition) as caught:
        embedder(ModelSettings(embedder="openai", openai_base_url="http://h/v1"), tmp_path)
    assert "MNEMESH_OPENAI_EMBEDDING_MODEL" in caught.value.message


@pytest.mark.parametrize(
    ("provider", "module", "extra"),
    [("gemini", "mesh.models.gemini", "mnemesh[gemini]"), ("openai", "mesh.models.openai", "mnemesh[openai]")],
)
def test_missing_extra_is_named(
    provider: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    settings = ModelSettings(
        provider=provider,  # type: ignore[arg-type]
        embedder=provider,  # type: ignore[arg-type]
        gemini_api_key=KEY,
        openai_base_url="http://h/v1",
        openai_model="m",
        openai_embedding_model="e",
    )
    for make in (language_model, structured_model, lambda given: embedder(given, tmp_path)):
        with pytest.raises(FailedPrecondition) as caught:
            make(settings)
        assert extra in caught.value.message


async def test_builtin_extracts_nothing_and_embeds_locally(tmp_path: Path) -> None:
    assert structured_model(ModelSettings()) is None
    local = embedder(ModelSettings(), tmp_path)
    assert str(local.space) == "builtin/minilm-l6-v2-int8@768"
    await local.close()


async def test_models_are_made_as_configured(tmp_path: Path) -> None:
    settings = ModelSettings(
        provider="openai",
        embedder="openai",
        openai_base_url="http://h/v1",
        openai_model="m",
        openai_embedding_model="e",
    )
    model = language_model(settings)
    vectors = embedder(settings, tmp_path)
    assert (model.provider, model.name) == ("openai", "m")
    assert vectors.space == EmbeddingSpace("openai", "e")
    await warm_up(vectors)
    await model.close()
    await vectors.close()
