"""Who calls: the one rule for HTTP headers and gRPC metadata alike.

Mode `api_key` asks for `Authorization: Bearer <key>`. Mode `none` is for one machine: a key still counts when one is
sent, otherwise the caller is the local user or whom `X-User-ID` names, in the tenant `default` with every public scope.
A credential that does not hold is refused in every mode; it is never passed over in favour of a weaker one.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gateway.usecase.key_lookup import KeyLookup
from mesh.kernel.errors import Unauthenticated, invalid_field
from mesh.kernel.identity import ALL_SCOPES, Principal
from mesh.kernel.reasons import Reason

AuthMode: TypeAlias = Literal["none", "api_key"]

DEFAULT_TENANT = "default"
DEFAULT_USER = "00000000-0000-4000-8000-000000000001"
USER_HEADER = "X-User-ID"

_SCHEME = "bearer "
_MAX_CREDENTIAL_CHARS = 4096


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a call carries; each is empty when the call does not carry it.

    Args:
        authorization: the header `Authorization`.
        user_id: the header `X-User-ID`; counts in mode `none` only.
    """

    authorization: str = ""
    user_id: str = ""


class Authenticate:
    """Proves callers in one mode."""

    def __init__(self, mode: AuthMode, keys: KeyLookup) -> None:
        self._mode = mode
        self._keys = keys

    async def principal(self, given: Credentials) -> Principal:
        """Return the caller.

        Raises:
            Unauthenticated: CREDENTIAL_MISSING, CREDENTIAL_INVALID or CREDENTIAL_EXPIRED.
            InvalidArgument: `X-User-ID` is no UUID.
        """
        if given.authorization:
            return await self._keys.principal(_bearer(given.authorization))
        if self._mode == "api_key":
            raise Unauthenticated(Reason.CREDENTIAL_MISSING, "send an API key: Authorization: Bearer mk_…")
        return Principal(DEFAULT_TENANT, _user(given.user_id), frozenset({ALL_SCOPES}))


def _bearer(authorization: str) -> str:
    if authorization[: len(_SCHEME)].lower() != _SCHEME or len(authorization) > _MAX_CREDENTIAL_CHARS:
        raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the Authorization header must be: Bearer <API key>")
    return authorization[len(_SCHEME) :].strip()


def _user(user_id: str) -> str:
    if not user_id:
        return DEFAULT_USER
    try:
        parsed = uuid.UUID(user_id)
    except ValueError:
        parsed = None
    if parsed is None or str(parsed) != user_id.lower():
        raise invalid_field(USER_HEADER, "must be a UUID, such as 00000000-0000-4000-8000-000000000001", "STRING_UUID")
    return str(parsed)
