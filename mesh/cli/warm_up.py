"""A first question to memory before people are told that the mesh is ready.

Memory is ready before its embedder is loaded, since it can answer without; a turn waits 300 ms for it and no longer.
Asked here once, with time, it has its vectors and its connections when the first turn comes.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import grpc

from mesh.cli.home import Credentials
from mesh.kernel.identity import ALL_SCOPES, Principal
from mesh.rpc.auth import TokenSigner
from mesh.rpc.channel import connect
from mesh.rpc.context import acting_as
from mnemesh.memory.v1.recall_service_pb2 import RecallRequest
from mnemesh.memory.v1.recall_service_pb2_grpc import RecallServiceStub

LONGEST_WAIT_S = 10.0
_POLL_S = 0.1
_QUESTION = "How does the day begin?"
_NOBODY = Principal(
    "default", "00000000-0000-4000-8000-000000000000", frozenset({ALL_SCOPES}), credential="internal:up"
)


async def warm_up_memory(target: str, credentials: Credentials) -> None:
    """Return when memory finds by meaning too, or when waiting for it is not worth while any more.

    Args:
        target: address of memory's gRPC.
        credentials: of the home, whose keys sign the identity of nobody.
    """
    signer = TokenSigner(credentials.identity_keys, "up")
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_WAIT_S), connect(target, "memory", signer) as channel:
            stub = RecallServiceStub(channel)
            while True:
                if await _is_whole(stub):
                    return
                await asyncio.sleep(_POLL_S)


async def _is_whole(stub: Any) -> bool:
    try:
        with acting_as(_NOBODY):
            answer = await stub.Recall(RecallRequest(query=_QUESTION, limit=1))
    except grpc.aio.AioRpcError:
        return False
    return not any(arm.arm == "vector" for arm in answer.degraded)
