"""An engine in a process of its own that starts one turn, says which, and waits to be killed."""

from __future__ import annotations

import asyncio
import json
import sys

from engine.app import EngineServer
from engine.settings import EngineSettings
from mesh.db.settings import DatabaseSettings
from mesh.rpc.auth import TokenSigner, service_principal
from mesh.rpc.channel import connect
from mesh.rpc.context import acting_as
from mnemesh.conversation.v1 import conversation_service_pb2 as pb
from mnemesh.conversation.v1.conversation_service_pb2_grpc import ConversationServiceStub
from tests.contract.engine.mesh_of_one import AVATAR, KEYS, TENANT, USER, first
from tests.contract.engine.scripted_model import Pause, ScriptedModel


async def main(database_url: str, memory_target: str, session_id: str, request_id: str) -> None:
    pause = Pause()
    settings = EngineSettings(
        database=DatabaseSettings(database_url), identity_keys=KEYS, listen="127.0.0.1:0", memory_target=memory_target
    )
    server = EngineServer(settings, ScriptedModel([["Wait", pause]]))
    port = await server.start()
    stub = ConversationServiceStub(connect(f"127.0.0.1:{port}", "engine", TokenSigner(KEYS, "gateway")))
    with acting_as(service_principal("gateway", TENANT, USER)):
        call = stub.Converse(pb.ConverseRequest(session_id=session_id, avatar=AVATAR, text="Hi", request_id=request_id))
        start = await first(call)
    await pause.reached.wait()
    print(start.session_start.turn_id, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*json.loads(sys.argv[1])))
