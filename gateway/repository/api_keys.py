"""The table `gateway.api_keys`.

Two functions here run across tenants, under `Database.sweep`, and they are the only ones in the gateway that may:
`find_api_key_by_hash`, because the tenant is what a key proves, and `touch_api_keys`, because times of last use are
written for all tenants at once. The first compares a hash of 256 random bits, so it can return no key but the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gateway.domain.api_key import SHOWN_CHARACTERS, ApiKey, NewApiKey, secret_hash
from mesh.db.queries import load
from mesh.db.transaction import Tx
from mesh.kernel.keyset import Position

_QUERIES = load(__name__, "api_keys.sql")
_INSERT = _QUERIES.get("insert_api_key")
_LIST = _QUERIES.get("list_api_keys")
_REVOKE = _QUERIES.get("revoke_api_key")
_FIND = _QUERIES.get("find_api_key_by_hash")
_TOUCH = _QUERIES.get("touch_api_keys")


async def insert_api_key(tx: Tx, key_id: str, new: NewApiKey, secret: str) -> ApiKey | None:
    """Store a new key of the transaction's tenant, the secret as its hash, and return it."""
    params = {
        "tenant_id": tx.tenant_id,
        "id": key_id,
        "user_id": new.user_id,
        "prefix": secret[:SHOWN_CHARACTERS],
        "secret_hash": secret_hash(secret),
        "display_name": new.display_name,
        "scopes": list(new.scopes),
        "expires_at": new.expires_at,
    }
    return await tx.one(_INSERT, params, into=ApiKey)


async def list_api_keys(tx: Tx, after: Position, most: int) -> list[ApiKey]:
    """Return keys of the transaction's tenant after a position, newest first, revoked and expired ones too."""
    params = {"tenant_id": tx.tenant_id, "after_time": after.at, "after_id": after.id, "most": most}
    return await tx.all(_LIST, params, into=ApiKey)


async def revoke_api_key(tx: Tx, key_id: str) -> ApiKey | None:
    """Revoke a key of the transaction's tenant and return it; a key that was revoked before keeps its time."""
    return await tx.one(_REVOKE, {"tenant_id": tx.tenant_id, "id": key_id}, into=ApiKey)


async def find_api_key_by_hash(tx: Tx, hashed: bytes) -> ApiKey | None:
    """Return the key whose secret has a hash, of any tenant. Runs under `Database.sweep`."""
    return await tx.one(_FIND, {"secret_hash": hashed}, into=ApiKey)


async def touch_api_keys(tx: Tx, used: Sequence[tuple[str, str, datetime]]) -> None:
    """Write when keys were last used, as (tenant_id, key id, time). Runs under `Database.sweep`."""
    tenants, ids, times = (list(column) for column in zip(*used, strict=True))
    await tx.execute(_TOUCH, {"tenant_ids": tenants, "ids": ids, "times": times})
