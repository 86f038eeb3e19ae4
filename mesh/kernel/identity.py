"""Who is calling: the principal that the edge proved and every server carries on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

TENANT_ID = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,128}")
"""Grammar of a tenant id. Source: spec-felix 1.1.1; no separator of ours (`:`, `#`, `/`) can occur in it."""

ALL_SCOPES = "*"
"""The scope that stands for every public scope; it never implies `internal`."""

INTERNAL_SCOPE = "internal"
"""Held only by the mesh's own servers and workers, for RPCs that no outside caller may use."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A proven caller.

    Args:
        tenant_id: matches `TENANT_ID`.
        user_id: a canonical lower-case UUID.
        scopes: granted scopes such as `memory.read`; `*` grants every public one.
        expires_at: when the proof ends, UTC; None when it does not.
        credential: how it was proven, for the audit: `none`, `api_key:<id>`, `jwt`, `internal:<server>`.
    """

    tenant_id: str
    user_id: str
    scopes: frozenset[str] = field(default_factory=frozenset)
    expires_at: datetime | None = None
    credential: str = "none"

    def may(self, scope: str) -> bool:
        """Tell whether the principal holds a scope. An empty scope asks for nothing."""
        if not scope or scope in self.scopes:
            return True
        return scope != INTERNAL_SCOPE and ALL_SCOPES in self.scopes


@dataclass(frozen=True, slots=True)
class Call:
    """What a use case knows of the RPC it serves.

    Args:
        principal: the proven caller.
        method: full gRPC method, `/package.Service/Method`; part of the idempotency key.
        request_id: the caller's idempotency key (a UUID), or empty when the method takes none or none was given.
        request_digest: SHA-256 of the deterministic request bytes without `request_id`.
    """

    principal: Principal
    method: str
    request_id: str = ""
    request_digest: bytes = b""

    @property
    def tenant_id(self) -> str:
        return self.principal.tenant_id

    @property
    def user_id(self) -> str:
        return self.principal.user_id


def is_tenant_id(value: str) -> bool:
    """Tell whether a text is a legal tenant id."""
    return TENANT_ID.fullmatch(value) is not None
