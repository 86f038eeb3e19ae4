"""Makes the models that settings ask for. Adapters import their provider's library, so they are imported here, late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mesh.models.attempts import RetryPolicy
from mesh.models.faults import missing_extra, missing_setting
from mesh.models.protocols import Embedder, EmbeddingSpace, LanguageModel, StructuredModel
from mesh.models.settings import ModelSettings
from mesh.models.streaming import StreamLimits

if TYPE_CHECKING:
    from mesh.models.gemini import GeminiModel, GeminiOptions
    from mesh.models.openai import OpenAIModel, OpenAIOptions

# Late imports: google-genai alone takes more than a second, and each library is an extra.
# ruff: noqa: PLC0415


def language_model(settings: ModelSettings) -> LanguageModel:
    """Return the model that answers.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, a setting or an extra is missing.
    """
    provider = settings.language_provider()
    if provider == "builtin":
        from mesh.models.builtin import GroundedResponder

        return GroundedResponder()
    return _gemini_model(settings) if provider == "gemini" else _openai_model(settings)


def structured_model(settings: ModelSettings) -> StructuredModel | None:
    """Return the model that extracts, or None when the built-in extractor has to.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, a setting or an extra is missing.
    """
    provider = settings.language_provider()
    if provider == "builtin":
        return None
    return _gemini_model(settings) if provider == "gemini" else _openai_model(settings)


def embedder(settings: ModelSettings, cache_dir: Path, stored: EmbeddingSpace | None = None) -> Embedder:
    """Return the model that makes vectors.

    Args:
        settings: which one, and how it is reached.
        cache_dir: where the built-in embedder keeps its prepared model.
        stored: the space of the stored vectors, which an embedder that nobody chose keeps to; None when there are none.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, a setting or an extra is missing.
    """
    provider = settings.embedding_provider(stored)
    if provider == "gemini":
        return _gemini_embedder(settings)
    if provider == "openai":
        return _openai_embedder(settings)
    from mesh.models.onnx import OnnxEmbedder, OnnxOptions

    return OnnxEmbedder(cache_dir, OnnxOptions(threads=settings.embedder_threads))


def _gemini_model(settings: ModelSettings) -> GeminiModel:
    options = _gemini_options(settings)
    from mesh.models.gemini import GeminiModel

    return GeminiModel(settings.gemini_model, options)


def _gemini_embedder(settings: ModelSettings) -> Embedder:
    options = _gemini_options(settings)
    from mesh.models.gemini import GeminiEmbedder

    return GeminiEmbedder(settings.gemini_embedding_model, options)


def _gemini_options(settings: ModelSettings) -> GeminiOptions:
    if not settings.gemini_api_key:
        raise missing_setting("GEMINI_API_KEY", "the provider gemini")
    try:
        from mesh.models.gemini import GeminiOptions
    except ImportError:
        raise missing_extra("gemini", "the provider gemini") from None
    return GeminiOptions(
        api_key=settings.gemini_api_key,
        base_url=settings.gemini_base_url,
        api_version=settings.gemini_api_version,
        limits=StreamLimits(settings.first_token_timeout_s, settings.stall_timeout_s),
        request_timeout_s=settings.request_timeout_s,
        retry=RetryPolicy(attempts=settings.attempts),
    )


def _openai_model(settings: ModelSettings) -> OpenAIModel:
    if not settings.openai_model:
        raise missing_setting("MNEMESH_OPENAI_MODEL", "the provider openai")
    options = _openai_options(settings)
    from mesh.models.openai import OpenAIModel

    return OpenAIModel(settings.openai_model, options)


def _openai_embedder(settings: ModelSettings) -> Embedder:
    if not settings.openai_embedding_model:
        raise missing_setting("MNEMESH_OPENAI_EMBEDDING_MODEL", "the embedder openai")
    options = _openai_options(settings)
    from mesh.models.openai import OpenAIEmbedder

    return OpenAIEmbedder(settings.openai_embedding_model, options, settings.openai_embedding_dimensions)


def _openai_options(settings: ModelSettings) -> OpenAIOptions:
    if not (settings.openai_base_url or settings.openai_api_key):
        raise missing_setting("MNEMESH_OPENAI_BASE_URL or MNEMESH_OPENAI_API_KEY", "the provider openai")
    try:
        from mesh.models.openai import OpenAIOptions
    except ImportError:
        raise missing_extra("openai", "the provider openai") from None
    return OpenAIOptions(
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key,
        limits=StreamLimits(settings.first_token_timeout_s, settings.stall_timeout_s),
        request_timeout_s=settings.request_timeout_s,
        retry=RetryPolicy(attempts=settings.attempts),
    )


async def warm_up(embedder: Embedder) -> None:
    """Prepare a local embedder, so that its first query does not wait for a model to be loaded; others need nothing.

    Raises:
        MeshError: the model could not be prepared; the next use tries again.
    """
    prepare = getattr(embedder, "warm_up", None)
    if prepare is not None:
        await prepare()
