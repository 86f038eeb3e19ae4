"""The engine as processes: started, spoken to, stopped; with the model that needs no key."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import Process

import grpc

from mesh.rpc.auth import TokenSigner
from mesh.rpc.channel import connect
from mnemesh.conversation.v1.conversation_service_pb2_grpc import ConversationServiceStub
from tests.contract.engine.mesh_of_one import KEYS, EngineUnderTest, MeshOfOne, answer, eventually, kinds, new_uuid


async def start(command: str, environment: dict[str, str]) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "engine", command, env=environment, stderr=asyncio.subprocess.PIPE
    )


async def test_serve_and_work_answer_teach_and_stop_cleanly(mesh: MeshOfOne) -> None:
    address = f"unix:{mesh.directory}/engine.sock"
    environment = {
        "PYTHONPATH": ":".join(sys.path),
        "MNEMESH_DATABASE_URL": mesh.database_url,
        "MNEMESH_IDENTITY_KEYS": ",".join(KEYS),
        "MNEMESH_ENGINE_LISTEN": address,
        "MNEMESH_MEMORY_TARGET": mesh.memory.target,
        "MNEMESH_ENGINE_RECALL_BUDGET_SECONDS": "5",
        "MNEMESH_HTTP_PORT": "8080",
    }
    server, worker = await start("serve", environment), await start("work", environment)
    async with connect(address, "engine", TokenSigner(KEYS, "gateway")) as channel:
        engine = EngineUnderTest(None, ConversationServiceStub(channel))  # type: ignore[arg-type]
        session, request = new_uuid(), new_uuid()

        async def is_up() -> bool:
            try:
                return bool(await engine.converse(session, "Where do I live?", request))
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                return False

        await eventually(is_up, timeout_s=30.0)
        events = await engine.converse(session, "Where do I live?", request)

    assert kinds(events)[-1] == "committed"
    assert events[-1].committed.model.provider == "builtin"
    assert "Lviv" in answer(events)
    await asyncio.wait_for(mesh.memory.learned.wait(), 20)
    assert mesh.memory.lessons[0][1].assistant_grounded
    for process in (server, worker):
        process.send_signal(signal.SIGTERM)
    outputs = [await process.communicate() for process in (server, worker)]
    assert [server.returncode, worker.returncode] == [0, 0], outputs


async def test_a_server_without_its_settings_says_what_to_set(mesh: MeshOfOne) -> None:
    process = await start("serve", {"PYTHONPATH": ":".join(sys.path)})

    _, said = await process.communicate()

    assert process.returncode == 1
    assert b"MNEMESH_DATABASE_URL must be set" in said
    assert b"Traceback" not in said
