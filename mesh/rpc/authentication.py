"""Authentication interceptor: who calls, and may they use this method."""

from __future__ import annotations

from mesh.kernel.errors import ErrorDetails, PermissionDenied
from mesh.kernel.reasons import Reason
from mesh.rpc.auth import Authenticator
from mesh.rpc.context import PRINCIPAL
from mesh.rpc.method import Handler, Method, Rpc
from mesh.telemetry.context import TENANT_ID


class AuthenticationInterceptor:
    """Proves the caller and checks the scope that the method's contract declares."""

    name = "authentication"
    requires = ("status", "deadline", "admission")

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        async def handle(rpc: Rpc) -> bytes | None:
            principal = await self._authenticator.authenticate(rpc.metadata)
            rpc.principal = principal
            PRINCIPAL.set(principal)
            TENANT_ID.set(principal.tenant_id)
            if not principal.may(method.scope):
                raise _scope_missing(method.scope)
            return await proceed(rpc)

        return handle


def _scope_missing(scope: str) -> PermissionDenied:
    details = ErrorDetails(metadata={"scope": scope})
    return PermissionDenied(Reason.SCOPE_MISSING, f"the method needs the scope {scope}", details)
