"""API keys: random secrets of which only a hash is kept.

A secret has 256 random bits, so a plain SHA-256 protects it: there is nothing to guess, and a slow password hash would
only slow down every request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from mesh.kernel.errors import NotFound, PermissionDenied, Unauthenticated, not_found
from mesh.kernel.identity import ALL_SCOPES, INTERNAL_SCOPE, Principal
from mesh.kernel.reasons import Reason

KEY_PREFIX = "mk_"
SECRET_BYTES = 32
SHOWN_CHARACTERS = 11
"""How much of a secret is kept readable: `mk_` and 8 of 43 characters, 48 of 256 bits."""

PUBLIC_SCOPES = frozenset({"sessions.read", "sessions.write", "chat", "memory.read", "memory.write", "keys.admin"})

_SECRET = re.compile(r"mk_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored, without its hash.

    Args:
        id: UUID.
        tenant_id: the tenant that the key belongs to and that its bearer acts in.
        user_id: UUID of the user that its bearer acts as.
        prefix: the first `SHOWN_CHARACTERS` of the secret.
        display_name: for people.
        scopes: what its bearer may do; `*` is every public scope.
        created_at: UTC.
        expires_at: UTC; None when it does not end.
        revoked_at: UTC; None unless it was revoked.
        last_used_at: UTC, to the minute; None when it was never used.
    """

    id: str
    tenant_id: str
    user_id: str
    prefix: str
    display_name: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def principal(self, now: datetime) -> Principal:
        """Return who its bearer is.

        Raises:
            Unauthenticated: it was revoked (CREDENTIAL_INVALID) or has ended (CREDENTIAL_EXPIRED).
        """
        if self.revoked_at is not None:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the API key was revoked")
        if self.expires_at is not None and self.expires_at <= now:
            raise Unauthenticated(Reason.CREDENTIAL_EXPIRED, "the API key has expired")
        return Principal(self.tenant_id, self.user_id, frozenset(self.scopes), self.expires_at, f"api_key:{self.id}")


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """What a caller gives to create a key; `user_id` is never empty here."""

    display_name: str
    user_id: str
    scopes: tuple[str, ...]
    expires_at: datetime | None


def new_secret() -> str:
    """Return a fresh secret: `mk_` and 43 characters of base64url."""
    return KEY_PREFIX + secrets.token_urlsafe(SECRET_BYTES)


def secret_hash(secret: str) -> bytes:
    """Return what is stored of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def is_secret(text: str) -> bool:
    """Tell whether a text has the form of a secret."""
    return _SECRET.fullmatch(text) is not None


def require_grantable(principal: Principal, scopes: Iterable[str]) -> None:
    """Refuse to hand out more than the caller holds.

    Raises:
        PermissionDenied: the caller lacks one of the scopes, or `*` without holding every public scope (SCOPE_MISSING).
    """
    for scope in scopes:
        needed = PUBLIC_SCOPES if scope == ALL_SCOPES else {scope}
        missing = sorted(one for one in needed if one == INTERNAL_SCOPE or not principal.may(one))
        if missing:
            raise PermissionDenied(Reason.SCOPE_MISSING, f"a key cannot get the scope {scope}, which the caller lacks")


def api_key_not_found(key_id: str) -> NotFound:
    """Return the error for a key that the tenant does not have."""
    return not_found(Reason.API_KEY_NOT_FOUND, "api_key", key_id)
