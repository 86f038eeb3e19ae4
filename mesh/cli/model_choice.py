"""Which models the servers will use, by the rules of their own settings, told to people."""

from __future__ import annotations

from mesh.cli.problems import environment_problem
from mesh.cli.settings import inherited_environment
from mesh.kernel.errors import FailedPrecondition
from mesh.models.settings import ModelSettings
from mesh.runtime.settings import load

BUILTIN = "builtin"
BETTER_MODEL = "set GEMINI_API_KEY or MNEMESH_OPENAI_BASE_URL for a language model"


def read_model_settings() -> ModelSettings:
    """Return the model settings in the environment.

    Raises:
        Problem: one cannot be read.
    """
    try:
        return load(ModelSettings, inherited_environment())
    except FailedPrecondition as error:
        raise environment_problem(error.message.rstrip("."), "correct it and start again") from error


def model_line(models: ModelSettings) -> str:
    """Return what answers, and how to get something better than the built-in responder."""
    provider = models.language_provider()
    if provider == BUILTIN:
        return f"builtin (answers from memory only) – {BETTER_MODEL}"
    name = models.gemini_model if provider == "gemini" else models.openai_model
    return f"{provider}, {name}" if name else provider


def embedder_line(models: ModelSettings) -> str:
    """Return what makes vectors, unless those that are stored were made by another one."""
    provider = models.embedding_provider()
    if provider == BUILTIN:
        return "minilm-l6-v2 int8, local"
    name = models.gemini_embedding_model if provider == "gemini" else models.openai_embedding_model
    return f"{provider}, {name}"
