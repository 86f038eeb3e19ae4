"""The two extractors: rules that are built in, and a language model where one is configured."""

from __future__ import annotations

import asyncio

from memory.domain import model_extraction
from memory.domain.statements import Statement, extract
from memory.usecase.ports import Utterance
from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.protocols import StructuredModel


class BuiltinExtractor:
    """Reads plain statements by rule. Needs no model and no network, and prefers silence to a wrong fact."""

    async def extract(self, said: Utterance) -> list[Statement]:
        """Return the statements of the user's text; runs in a thread, since a long text takes a while."""
        turn = said.turn
        return await asyncio.to_thread(
            extract, turn.user_text, said_at=turn.at, zone=turn.zone, speaker="user", previous=said.previous
        )


class ModelExtractor:
    """Reads statements with a language model that answers in JSON of a given schema."""

    def __init__(self, model: StructuredModel, timeout_s: float) -> None:
        self._model = model
        self._timeout_s = timeout_s

    async def extract(self, said: Utterance) -> list[Statement]:
        """Return the statements whose excerpt stands in the user's text; the others were made up and are dropped.

        Raises:
            MeshError: the model is away, late, or answered something else than asked. Nothing takes its place: the
                caller delivers the turn again (G11).
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._model.extract(
                    model_extraction.prompt(said.turn, said.previous),
                    model_extraction.SCHEMA,
                    instructions=model_extraction.INSTRUCTIONS,
                )
        except TimeoutError:
            raise Unavailable(Reason.MODEL_UNAVAILABLE, "the language model did not answer in time") from None
        return model_extraction.statements(answer, said.turn.user_text)
