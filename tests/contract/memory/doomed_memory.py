"""A memory server in a process of its own that stops at one step of learning, says so, and waits to be killed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from memory.app import MemoryServer
from memory.settings import MemorySettings
from mesh.db.settings import DatabaseSettings
from mesh.models.protocols import Vectors
from tests.contract.memory.hashing_embedder import HashingEmbedder
from tests.contract.memory.memory_under_test import KEYS

FIRST_VECTORS, EXTRACTION, FACT_VECTORS = "first_vectors", "extraction", "fact_vectors"
STEPS = (FIRST_VECTORS, EXTRACTION, FACT_VECTORS)

ANSWER = {
    "facts": [
        {
            "subject": "user",
            "key": "home_city",
            "value": "Lviv",
            "kind": "fact",
            "excerpt": "I live in Lviv",
            "confidence": 1,
            "multiple": False,
            "valid_from": "",
        }
    ]
}


async def stop_here() -> None:
    print("here", flush=True)
    await asyncio.Event().wait()


class DoomedEmbedder(HashingEmbedder):
    def __init__(self, step: str) -> None:
        super().__init__()
        self._calls_left = {FIRST_VECTORS: 0, FACT_VECTORS: 1}.get(step, 99)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self._calls_left == 0:
            await stop_here()
        self._calls_left -= 1
        return await super().embed_documents(texts)


class DoomedExtractor:
    name = "doomed"
    provider = "gemini"

    def __init__(self, step: str) -> None:
        self._stops = step == EXTRACTION

    async def extract(self, prompt: str, schema: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        if self._stops:
            await stop_here()
        return ANSWER

    async def close(self) -> None:
        """Hold nothing."""


async def main(database_url: str, listen: str, step: str) -> None:
    settings = MemorySettings(
        database=DatabaseSettings(database_url), identity_keys=KEYS, listen=listen, learn_embed_timeout_s=60
    )
    server = MemoryServer(settings, lambda stored: DoomedEmbedder(step), DoomedExtractor(step))
    await server.start()
    await server.set_ready(True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*json.loads(sys.argv[1])))
