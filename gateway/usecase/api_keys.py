"""API keys of a tenant: create, list, revoke."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.domain.api_key import ApiKey, NewApiKey, api_key_not_found, new_secret, require_grantable
from gateway.repository import api_keys
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel import keyset
from mesh.kernel.identity import Call
from mesh.kernel.ids import new_id
from mesh.kernel.keyset import Position
from mesh.kernel.pages import Page, page_size


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key and its secret, which is empty when the request was answered before: it is not kept anywhere."""

    key: ApiKey
    secret: str


class ApiKeys:
    """The keys of the calling tenant, of all its users."""

    def __init__(self, db: Database, idempotency: Idempotency, on_revoke: Callable[[str], None]) -> None:
        """Take what it needs.

        Args:
            db: the gateway's database.
            idempotency: answers to repeated requests.
            on_revoke: called with the id of a key that was revoked, so that this process forgets it at once.
        """
        self._db = db
        self._idempotency = idempotency
        self._on_revoke = on_revoke

    async def create(self, call: Call, new: NewApiKey) -> IssuedKey:
        """Create a key in the caller's tenant.

        Raises:
            PermissionDenied: it would get a scope that the caller lacks (SCOPE_MISSING).
        """
        require_grantable(call.principal, new.scopes)
        issued: list[str] = []

        async def insert(tx: Tx) -> ApiKey:
            secret = new_secret()
            issued[:] = [secret]
            return _existing(await api_keys.insert_api_key(tx, new_id(), new, secret), "")

        async def in_transaction(tx: Tx) -> ApiKey:
            issued.clear()
            return await self._idempotency.once(tx, call, ApiKey, lambda: insert(tx))

        key = await self._db.run(call.tenant_id, in_transaction)
        return IssuedKey(key, issued[0] if issued else "")

    async def list(self, call: Call, size: int, token: str) -> Page[ApiKey]:
        """Return a page of keys, newest first, revoked and expired ones too.

        Args:
            call: who asks.
            size: most keys, 0 for the default.
            token: token of the page before, empty for the first.
        """
        bound_to = ("api_keys", call.tenant_id)
        after = keyset.from_token(token, *bound_to)
        most = page_size(size)
        async with self._db.transaction(call.tenant_id) as tx:
            found = await api_keys.list_api_keys(tx, after, most + 1)
        items = found[:most]
        if len(found) <= most:
            return Page(items)
        return Page(items, keyset.to_token(Position(items[-1].created_at, items[-1].id), *bound_to))

    async def revoke(self, call: Call, key_id: str) -> ApiKey:
        """Revoke a key. One that was revoked before keeps its time.

        Raises:
            NotFound: the tenant has no such key (API_KEY_NOT_FOUND).
        """

        async def apply(tx: Tx) -> ApiKey:
            return _existing(await api_keys.revoke_api_key(tx, key_id), key_id)

        async def in_transaction(tx: Tx) -> ApiKey:
            return await self._idempotency.once(tx, call, ApiKey, lambda: apply(tx))

        key = await self._db.run(call.tenant_id, in_transaction)
        self._on_revoke(key_id)
        return key


def _existing(key: ApiKey | None, key_id: str) -> ApiKey:
    if key is None:
        raise api_key_not_found(key_id)
    return key
