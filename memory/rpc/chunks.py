"""`mnemesh.memory.v1.ChunkService`: each method is one use case."""

from __future__ import annotations

from typing import Any

import grpc

from memory.rpc import convert
from memory.rpc.budget import read_budget_s, vector_budget_s
from memory.usecase.ingest import IngestDialog, dialog_of
from memory.usecase.search import SearchChunks
from mesh.rpc.context import current_call
from mesh.rpc.server import Service
from mnemesh.memory.v1 import chunk_pb2
from mnemesh.memory.v1 import chunk_service_pb2 as pb
from mnemesh.memory.v1.chunk_service_pb2_grpc import ChunkServiceServicer, add_ChunkServiceServicer_to_server

Context = grpc.aio.ServicerContext[Any, Any]


class ChunkServicer(ChunkServiceServicer):
    """Serves raw evidence."""

    def __init__(self, ingest: IngestDialog, search: SearchChunks) -> None:
        self._ingest = ingest
        self._search = search

    async def IngestDialog(self, request: pb.IngestDialogRequest, _context: Context) -> pb.IngestDialogResponse:
        """Store messages of a dialog."""
        call = current_call()
        dialog = dialog_of(call, request.dialog_key, request.avatar_id.lower())
        stored = await self._ingest.ingest(call, dialog, convert.messages(request), vector_budget_s())
        return pb.IngestDialogResponse(
            dialog_key=stored.dialog_key,
            inserted=stored.inserted,
            updated=stored.updated,
            unchanged=stored.unchanged,
            total_chunks=stored.inserted + stored.updated + stored.unchanged,
            sources=stored.sources,
            pending_vectors=stored.pending_vectors,
        )

    async def SearchChunks(self, request: pb.SearchChunksRequest, _context: Context) -> pb.SearchChunksResponse:
        """Find chunks by meaning and words."""
        call = current_call()
        scope = convert.search_scope(request, call.user_id)
        plain = request.ranking == chunk_pb2.CHUNK_RANKING_COSINE_BOOST
        search = self._search.by_cosine if plain else self._search.hybrid
        found = await search(call, request.query, scope, request.limit, read_budget_s())
        results = [
            pb.FoundChunk(chunk=convert.chunk(one.chunk), score=one.score, match_score=one.match_score, boost=one.boost)
            for one in found.results
        ]
        return pb.SearchChunksResponse(results=results, degraded=convert.degraded(found.degraded))


def chunk_service(servicer: ChunkServicer) -> Service:
    """Return the service for the server to register."""
    return Service(pb.DESCRIPTOR.services_by_name["ChunkService"], add_ChunkServiceServicer_to_server, servicer)
