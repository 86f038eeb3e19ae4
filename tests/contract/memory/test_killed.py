"""kill -9 in the middle of learning: what was stored stays, what is missing is done by the next delivery, once (G1)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from mesh.kernel.errors import MeshError
from mesh.kernel.identity import Principal
from mesh.rpc.auth import TokenSigner
from mesh.rpc.channel import connect
from mesh.testing.postgres import MeshDatabase
from tests.contract.memory.doomed_memory import EXTRACTION, STEPS
from tests.contract.memory.memory_under_test import KEYS, MemoryUnderTest, User, new_uuid


@pytest.mark.parametrize("step", STEPS)
async def test_g1_a_turn_whose_server_was_killed_is_learned_once(
    memory_database: MeshDatabase, memory: MemoryUnderTest, sockets: Path, step: str
) -> None:
    address = f"unix:{sockets}/doomed.sock"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.contract.memory.doomed_memory",
        json.dumps([memory_database.urls["memory"], address, step]),
        env={"PYTHONPATH": ":".join(sys.path)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    turn = {"session_id": new_uuid(), "turn_id": new_uuid(), "assistant_text": "Noted, it is a fine city."}
    text = "I live in Lviv, you know."
    async with connect(address, "memory", TokenSigner(KEYS, "engine")) as channel:
        user = User(channel, Principal("acme", new_uuid(), frozenset({"*"})))
        doomed = asyncio.create_task(deliver(user, text, turn))
        assert await asyncio.wait_for(process.stdout.readline(), 30) == b"here\n"
        process.kill()
        await process.wait()
        doomed.cancel()
        await asyncio.gather(doomed, return_exceptions=True)

    survivor = User(memory.channel, user.principal)
    if step == EXTRACTION:
        assert text in await survivor.recalled("Lviv")
    assert not (await survivor.list()).facts

    for _ in range(2):
        await survivor.learn(text, **turn)
    assert await survivor.facts() == {"home_city": "Lviv"}
    assert sorted(one.chunk.text for one in (await survivor.search("Lviv")).results) == sorted(
        [text, turn["assistant_text"]]
    )


async def deliver(user: User, text: str, turn: dict[str, str]) -> None:
    """Deliver until the server takes it, as a relay would."""
    while True:
        try:
            await user.learn(text, **turn)
        except MeshError:
            await asyncio.sleep(0.05)
        else:
            return
