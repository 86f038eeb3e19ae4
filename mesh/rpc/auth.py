"""Identity between servers: short-lived signed tokens, and the port through which a server proves its callers.

Every server of a mesh shares the identity keys. The first key signs, all of them verify, so a key is rotated by adding
the new one at the end everywhere, moving it to the front, and removing the old one a minute later. A token names its
key by a short digest (`kid`), its receiver (`aud`), and ends after 60 seconds; there is no leeway, because the signer
renews a token when half of that is over. Signing and verifying are cached: a caller costs one HMAC in 30 seconds.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar

import jwt

from mesh.kernel.clock import Clock, SystemClock
from mesh.kernel.errors import FailedPrecondition, Unauthenticated
from mesh.kernel.identity import ALL_SCOPES, INTERNAL_SCOPE, Principal, is_tenant_id
from mesh.kernel.ids import is_uuid
from mesh.kernel.reasons import Reason

IDENTITY_KEY = "x-mnemesh-identity"
"""Metadata key of the signed identity."""

TOKEN_LIFE_S = 60
_RENEW_AFTER_S = 30
_MIN_KEY_BYTES = 32  # RFC 7518 section 3.2: an HS256 key is at least as long as the hash
_ALGORITHM = "HS256"
_CACHE_SIZE = 4096

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Authenticator(Protocol):
    """Proves who calls."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Principal:
        """Return the proven caller.

        Args:
            metadata: the call's text metadata, keys in lower case; of repeated keys the last one.

        Raises:
            Unauthenticated: CREDENTIAL_MISSING, CREDENTIAL_INVALID or CREDENTIAL_EXPIRED.
        """
        ...


class TokenSigner:
    """Signs the identity that a server passes on."""

    def __init__(self, keys: Sequence[str], issuer: str, clock: Clock | None = None) -> None:
        """Keep the signing key.

        Args:
            keys: identity keys, at least 32 bytes each; the first one signs.
            issuer: this server's name, such as `gateway`.
            clock: wall time.

        Raises:
            FailedPrecondition: CONFIGURATION_INVALID, no key or a short one.
        """
        self._key_id, self._key = next(iter(_key_ring(keys).items()))
        self._issuer = issuer
        self._clock = clock or SystemClock()
        self._cache: _Recent[tuple[Principal, str], tuple[str, float]] = _Recent(_CACHE_SIZE)

    def sign(self, principal: Principal, audience: str) -> str:
        """Return a token that proves a principal to one server for at least half a minute.

        Raises:
            Unauthenticated: CREDENTIAL_EXPIRED, the proof of the principal itself is over.
        """
        now = self._clock.now().timestamp()
        cached = self._cache.get((principal, audience))
        if cached is not None and now < cached[1]:
            return cached[0]
        token, renew_at = self._issue(principal, audience, now)
        self._cache.put((principal, audience), (token, renew_at))
        return token

    def _issue(self, principal: Principal, audience: str, now: float) -> tuple[str, float]:
        proof_ends = principal.expires_at.timestamp() if principal.expires_at else None
        if proof_ends is not None and proof_ends <= now:
            raise _expired()
        ends = now + TOKEN_LIFE_S if proof_ends is None else min(now + TOKEN_LIFE_S, proof_ends)
        claims: dict[str, Any] = {
            "iss": self._issuer,
            "aud": audience,
            "sub": principal.user_id,
            "tenant": principal.tenant_id,
            "scopes": sorted(principal.scopes),
            "credential": principal.credential,
            "exp": ends,
        }
        if proof_ends is not None:
            claims["proof_exp"] = proof_ends
        token = jwt.encode(claims, self._key, algorithm=_ALGORITHM, headers={"kid": self._key_id})
        return token, min(now + _RENEW_AFTER_S, ends)


class TokenVerifier:
    """Checks tokens that were made for one server."""

    def __init__(self, keys: Sequence[str], audience: str, clock: Clock | None = None) -> None:
        """Keep the keys.

        Args:
            keys: identity keys, at least 32 bytes each; a token signed with any of them holds.
            audience: this server's name.
            clock: wall time.

        Raises:
            FailedPrecondition: CONFIGURATION_INVALID, no key or a short one.
        """
        self._keys = _key_ring(keys)
        self._audience = audience
        self._clock = clock or SystemClock()
        self._cache: _Recent[str, tuple[Principal, float]] = _Recent(_CACHE_SIZE)

    def verify(self, token: str) -> Principal:
        """Return the principal that a token proves.

        Raises:
            Unauthenticated: CREDENTIAL_INVALID (malformed, unknown key, wrong signature or receiver) or
                CREDENTIAL_EXPIRED.
        """
        proven = self._cache.get(token)
        if proven is None:
            proven = self._read(token)
            self._cache.put(token, proven)
        principal, ends = proven
        if self._clock.now().timestamp() >= ends:
            raise _expired()
        return principal

    def _read(self, token: str) -> tuple[Principal, float]:
        try:
            key = self._keys[jwt.get_unverified_header(token)["kid"]]
            claims = jwt.decode(
                token,
                key,
                algorithms=[_ALGORITHM],
                audience=self._audience,
                options={"verify_exp": False, "require": ["exp", "aud", "sub"]},
            )
            return _principal(claims), float(claims["exp"])
        except (jwt.InvalidTokenError, KeyError, TypeError, ValueError, OverflowError):
            raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the identity of the call does not hold") from None


class InternalAuthenticator:
    """Takes callers as another server of the mesh proved them."""

    def __init__(self, verifier: TokenVerifier) -> None:
        self._verifier = verifier

    async def authenticate(self, metadata: Mapping[str, str]) -> Principal:
        token = metadata.get(IDENTITY_KEY)
        if not token:
            raise Unauthenticated(Reason.CREDENTIAL_MISSING, "the call carries no identity")
        return self._verifier.verify(token)


def service_principal(server: str, tenant_id: str, user_id: str) -> Principal:
    """Return the identity with which a server or worker acts for a user: every public scope and `internal`."""
    scopes = frozenset({INTERNAL_SCOPE, ALL_SCOPES})
    return Principal(tenant_id, user_id, scopes, expires_at=None, credential=f"internal:{server}")


class _Recent(Generic[K, V]):
    """The values used last, at most so many."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)


def _key_ring(keys: Sequence[str]) -> dict[str, bytes]:
    ring = {hashlib.sha256(b"mnemesh-identity-key:" + key.encode()).hexdigest()[:12]: key.encode() for key in keys}
    if not ring or any(len(key) < _MIN_KEY_BYTES for key in ring.values()):
        raise FailedPrecondition(
            Reason.CONFIGURATION_INVALID,
            f"identity keys must be set, each at least {_MIN_KEY_BYTES} bytes long; `openssl rand -hex 32` makes one",
        )
    return ring


def _principal(claims: Mapping[str, Any]) -> Principal:
    tenant_id, user_id = str(claims["tenant"]), str(claims["sub"])
    if not is_tenant_id(tenant_id) or not is_uuid(user_id):
        raise ValueError("tenant and user of a token must be well formed")
    proof_ends = claims.get("proof_exp")
    return Principal(
        tenant_id=tenant_id,
        user_id=user_id,
        scopes=frozenset(str(scope) for scope in claims["scopes"]),
        expires_at=None if proof_ends is None else datetime.fromtimestamp(float(proof_ends), UTC),
        credential=str(claims["credential"]),
    )


def _expired() -> Unauthenticated:
    return Unauthenticated(Reason.CREDENTIAL_EXPIRED, "the identity of the call is not valid any more")
