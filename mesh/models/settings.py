"""Which models a server uses, and how it reaches them. The metadata of each field is read by the settings loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.models.protocols import EmbeddingSpace

ProviderName: TypeAlias = Literal["builtin", "gemini", "openai"]


def _env(names: str | tuple[str, ...], doc: str, *, secret: bool = False) -> Mapping[str, Any]:
    return {"env": names, "doc": doc, "secret": secret}


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The models of a server. The defaults need neither a key nor a network.

    Args:
        provider: who answers; empty means gemini with a Gemini key, else openai with a base URL, else builtin.
        embedder: who makes vectors; empty keeps the provider of the stored vectors, or follows `provider` while there
            are none. `minilm` is another name of `builtin`.
        gemini_api_key: key of the Gemini API.
        gemini_base_url: another endpoint than Google's, without a path.
        gemini_api_version: path segment such as `v1beta`; empty for the library's default.
        gemini_model: name of the language model.
        gemini_embedding_model: name of the embedding model; it is asked for 768 dimensions.
        openai_base_url: an OpenAI-compatible server, up to and including `/v1`; empty for OpenAI's own.
        openai_api_key: its key; empty for servers that ask for none.
        openai_model: name of the language model.
        openai_embedding_model: name of the embedding model.
        openai_embedding_dimensions: size to ask for, for models that can shorten their vectors.
        first_token_timeout_s: how long a stream may take to begin.
        stall_timeout_s: how long a stream may be silent after that.
        request_timeout_s: how long a call that is not streamed may take.
        attempts: the most attempts of one call.
        embedder_threads: processor threads of the built-in embedder.
    """

    provider: Literal["", "builtin", "gemini", "openai"] = field(
        default="",
        metadata=_env(
            "MNEMESH_MODEL_PROVIDER",
            "Who answers: builtin, gemini or openai; unset: gemini with GEMINI_API_KEY, openai with "
            "MNEMESH_OPENAI_BASE_URL, else builtin.",
        ),
    )
    embedder: Literal["", "builtin", "minilm", "gemini", "openai"] = field(
        default="",
        metadata=_env(
            "MNEMESH_EMBEDDER",
            "Who makes vectors: builtin, gemini or openai; unset: whoever made the stored ones, else as the model.",
        ),
    )
    gemini_api_key: str = field(
        default="",
        repr=False,
        metadata=_env(("GEMINI_API_KEY", "MNEMESH_GEMINI_API_KEY"), "Key of the Gemini API.", secret=True),
    )
    gemini_base_url: str = field(
        default="", metadata=_env("MNEMESH_GEMINI_BASE_URL", "Another Gemini endpoint than Google's, without a path.")
    )
    gemini_api_version: str = field(
        default="", metadata=_env("MNEMESH_GEMINI_API_VERSION", "Version in Gemini's paths, such as v1beta.")
    )
    gemini_model: str = field(
        default="gemini-2.5-flash", metadata=_env("MNEMESH_GEMINI_MODEL", "Gemini model that answers and extracts.")
    )
    gemini_embedding_model: str = field(
        default="gemini-embedding-001",
        metadata=_env("MNEMESH_GEMINI_EMBEDDING_MODEL", "Gemini model that makes vectors."),
    )
    openai_base_url: str = field(
        default="",
        metadata=_env("MNEMESH_OPENAI_BASE_URL", "An OpenAI-compatible server, up to and including /v1."),
    )
    openai_api_key: str = field(
        default="", repr=False, metadata=_env("MNEMESH_OPENAI_API_KEY", "Key of that server.", secret=True)
    )
    openai_model: str = field(
        default="", metadata=_env("MNEMESH_OPENAI_MODEL", "Model of that server that answers and extracts.")
    )
    openai_embedding_model: str = field(
        default="", metadata=_env("MNEMESH_OPENAI_EMBEDDING_MODEL", "Model of that server that makes vectors.")
    )
    openai_embedding_dimensions: int | None = field(
        default=None,
        metadata=_env("MNEMESH_OPENAI_EMBEDDING_DIMENSIONS", "Size to ask for, for models that can shorten vectors."),
    )
    first_token_timeout_s: float = field(
        default=20.0,
        metadata=_env("MNEMESH_MODEL_FIRST_TOKEN_SECONDS", "Seconds that an answer may take to begin."),
    )
    stall_timeout_s: float = field(
        default=15.0,
        metadata=_env("MNEMESH_MODEL_STALL_SECONDS", "Seconds that an answer may be silent once it has begun."),
    )
    request_timeout_s: float = field(
        default=60.0,
        metadata=_env("MNEMESH_MODEL_REQUEST_SECONDS", "Seconds that extraction or embedding may take."),
    )
    attempts: int = field(
        default=3, metadata=_env("MNEMESH_MODEL_ATTEMPTS", "Most attempts of one call to a provider.")
    )
    embedder_threads: int = field(
        default=2, metadata=_env("MNEMESH_EMBEDDER_THREADS", "Processor threads of the built-in embedder.")
    )

    def __post_init__(self) -> None:
        if min(self.first_token_timeout_s, self.stall_timeout_s, self.request_timeout_s) <= 0:
            raise ValueError("MNEMESH_MODEL_*_SECONDS must be positive")
        if min(self.attempts, self.embedder_threads) < 1:
            raise ValueError("MNEMESH_MODEL_ATTEMPTS and MNEMESH_EMBEDDER_THREADS must be at least 1")

    def language_provider(self) -> ProviderName:
        """Return who answers."""
        if self.provider:
            return self.provider
        if self.gemini_api_key:
            return "gemini"
        return "openai" if self.openai_base_url else "builtin"

    def embedding_provider(self, stored: EmbeddingSpace | None = None) -> ProviderName:
        """Return who makes vectors.

        A key that is set later must not make the stored vectors useless, so an embedder that nobody chose stays the
        one that made them.

        Args:
            stored: the space of the stored vectors; None when there are none.

        Raises:
            FailedPrecondition: EMBEDDING_SPACE_MISMATCH, nobody chose, and the stored vectors' provider is unknown.
        """
        if self.embedder:
            return "builtin" if self.embedder == "minilm" else self.embedder
        if stored is not None:
            return _known_provider(stored)
        followed = self.language_provider()
        return "builtin" if followed == "openai" and not self.openai_embedding_model else followed


def _known_provider(stored: EmbeddingSpace) -> ProviderName:
    known: tuple[ProviderName, ...] = ("builtin", "gemini", "openai")
    for name in known:
        if stored.provider == name:
            return name
    message = f"the stored vectors are of {stored}, whose provider this version does not know"
    raise FailedPrecondition(Reason.EMBEDDING_SPACE_MISMATCH, message)
