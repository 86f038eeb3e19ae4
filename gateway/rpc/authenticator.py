"""Callers of the gateway's gRPC port: other servers with a signed identity, everybody else as over HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.usecase.authenticate import Authenticate, Credentials
from mesh.kernel.identity import Principal
from mesh.rpc.auth import IDENTITY_KEY, InternalAuthenticator


class EdgeAuthenticator:
    """Proves callers by a signed identity when they send one, otherwise by key or mode."""

    def __init__(self, internal: InternalAuthenticator, outside: Authenticate) -> None:
        self._internal = internal
        self._outside = outside

    async def authenticate(self, metadata: Mapping[str, str]) -> Principal:
        if IDENTITY_KEY in metadata:
            return await self._internal.authenticate(metadata)
        given = Credentials(metadata.get("authorization", ""), metadata.get("x-user-id", ""))
        return await self._outside.principal(given)
