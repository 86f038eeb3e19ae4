"""From the secret of an API key to the caller that it proves.

A key that was looked up is trusted for `CACHE_S`, so that a busy caller costs one query in a few seconds; a revocation
reaches every process within that time, and the process that revoked at once. Last use is noted in memory and written
by `flush`, so that no request waits for it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from gateway.domain.api_key import ApiKey, is_secret, secret_hash
from gateway.repository import api_keys
from mesh.db.pool import Database
from mesh.kernel.clock import Clock
from mesh.kernel.errors import Unauthenticated
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason

CACHE_S = 5.0
CACHE_KEYS = 10_000
TOUCH_EVERY = timedelta(minutes=1)
"""How much later a use must be than the one that is stored to be written."""


@dataclass(frozen=True, slots=True)
class _Known:
    key: ApiKey | None
    until_s: float


class KeyLookup:
    """The API keys that this process has seen lately."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._used: dict[tuple[str, str], datetime] = {}
        self._written: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    async def principal(self, secret: str) -> Principal:
        """Return the caller that a secret proves.

        Raises:
            Unauthenticated: malformed, unknown or revoked (CREDENTIAL_INVALID), or at its end (CREDENTIAL_EXPIRED).
            Unavailable: the database cannot be reached and the key was not seen in the last seconds.
        """
        if not is_secret(secret):
            raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the bearer token is not an API key")
        key = await self._find(secret_hash(secret))
        if key is None:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the API key is unknown")
        now = self._clock.now()
        principal = key.principal(now)
        self._note_use(key, now)
        return principal

    def forget(self, key_id: str) -> None:
        """Look a key up anew at its next use, because it was revoked here."""
        for hashed, known in list(self._known.items()):
            if known.key is not None and known.key.id == key_id:
                del self._known[hashed]

    async def flush(self) -> int:
        """Write the uses noted since the last flush and return how many keys they were of."""
        used, self._used = self._used, {}
        if not used:
            return 0
        async with self._db.sweep() as tx:
            await api_keys.touch_api_keys(tx, [(tenant, key_id, at) for (tenant, key_id), at in used.items()])
        self._written.update(used)
        while len(self._written) > CACHE_KEYS:
            self._written.popitem(last=False)
        return len(used)

    async def _find(self, hashed: bytes) -> ApiKey | None:
        known = self._known.get(hashed)
        if known is not None and known.until_s > self._clock.monotonic_s():
            return known.key
        # The moment before the query: what was read may be old by the time that the query took.
        until_s = self._clock.monotonic_s() + CACHE_S
        async with self._db.sweep() as tx:
            key = await api_keys.find_api_key_by_hash(tx, hashed)
        self._known[hashed] = _Known(key, until_s)
        self._known.move_to_end(hashed)
        if len(self._known) > CACHE_KEYS:
            self._known.popitem(last=False)
        return key

    def _note_use(self, key: ApiKey, now: datetime) -> None:
        place = (key.tenant_id, key.id)
        last = self._written.get(place) or key.last_used_at
        if last is None or now - last >= TOUCH_EVERY:
            self._used[place] = now
