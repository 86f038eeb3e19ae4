"""Bytes under keys, in a directory, in memory or in a bucket, with the same behaviour everywhere.

An object is written whole or not at all. A write that returned is durable: files are synced, buckets acknowledge.
There is no compare-and-swap, since directories have none: what must not be overwritten is created under a key of its
own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from mesh.kernel.errors import AlreadyExists, InvalidArgument, NotFound, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason
from mesh.objects.backends import connect, has_room, sync_to_disk
from mesh.objects.keys import checked_key
from mesh.objects.settings import ObjectStoreSettings

T = TypeVar("T")

DELETED_AT_ONCE = 1000
"""Keys in one bulk deletion. Source: S3 DeleteObjects."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What is known of an object without reading it.

    Args:
        key: its key.
        size_bytes: its length.
        modified_at: when it was written, UTC.
        etag: changes with its bytes; empty when the store has none.
    """

    key: str
    size_bytes: int
    modified_at: datetime
    etag: str


class ObjectStore:
    """Objects under keys of `mesh.objects.keys`.

    Args:
        url: `file:///directory`, `memory://`, `s3://bucket/prefix` or `gs://bucket/prefix`; takes the place of the
            settings' own.
        settings: credentials and bounds; the defaults when None.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, the URL cannot be used.
    """

    def __init__(self, url: str, settings: ObjectStoreSettings | None = None) -> None:
        self._settings = replace(settings or ObjectStoreSettings(), url=url)
        self._backend, self._root = connect(self._settings)

    async def put(self, key: str, data: bytes, *, mode: Literal["create", "overwrite"] = "create") -> None:
        """Write an object.

        Args:
            key: where.
            data: all of it.
            mode: `create` refuses a key that exists; `overwrite` replaces what is there.

        Raises:
            InvalidArgument: the key is not legal, or the object is too large (MESSAGE_TOO_LARGE).
            AlreadyExists: ALREADY_EXISTS, in mode `create`.
            ResourceExhausted: STORAGE_FULL.
            Unavailable: OBJECT_STORE_UNAVAILABLE; the object may or may not have been written.
        """
        checked_key(key)
        self._check_size(len(data))
        async with self._mapped(len(data)):
            await obstore.put_async(self._backend, key, data, mode=mode, use_multipart=False)
            if self._root is not None:
                await asyncio.to_thread(sync_to_disk, self._root, key)

    async def get(self, key: str) -> bytes:
        """Return an object's bytes.

        Raises:
            InvalidArgument: the key is not legal, or the object is too large (MESSAGE_TOO_LARGE).
            NotFound: OBJECT_NOT_FOUND.
            Unavailable: OBJECT_STORE_UNAVAILABLE.
        """
        checked_key(key)
        async with self._mapped():
            found = await obstore.get_async(self._backend, key)
            self._check_size(found.meta["size"])
            return bytes(await found.bytes_async())

    async def head(self, key: str) -> ObjectInfo:
        """Return what is known of an object.

        Raises:
            InvalidArgument: the key is not legal.
            NotFound: OBJECT_NOT_FOUND.
            Unavailable: OBJECT_STORE_UNAVAILABLE.
        """
        checked_key(key)
        async with self._mapped():
            meta = await obstore.head_async(self._backend, key)
        return ObjectInfo(key, meta["size"], meta["last_modified"], meta["e_tag"] or "")

    async def delete(self, key: str) -> None:
        """Delete an object; one that does not exist is deleted already.

        Raises:
            InvalidArgument: the key is not legal.
            Unavailable: OBJECT_STORE_UNAVAILABLE.
        """
        checked_key(key)
        async with self._mapped():
            await self._delete([key])

    async def delete_prefix(self, prefix: str) -> int:
        """Delete every object below a prefix of `tenant_prefix` and return how many there were.

        The deadline is for each batch of 1000, not for the whole. Called again after a failure, it finishes the rest.

        Raises:
            InvalidArgument: the prefix is not legal.
            Unavailable: OBJECT_STORE_UNAVAILABLE.
        """
        checked_key(prefix.removesuffix("/"))
        deleted = 0
        while True:
            async with self._mapped():
                keys = await self._some_keys(prefix)
                if not keys:
                    return deleted
                await self._delete(keys)
            deleted += len(keys)

    async def _some_keys(self, prefix: str) -> list[str]:
        async for chunk in obstore.list(self._backend, prefix, chunk_size=DELETED_AT_ONCE):
            if chunk:
                return [meta["path"] for meta in chunk]
        return []

    async def _delete(self, keys: list[str]) -> None:
        """Delete keys, also those that somebody else deletes meanwhile: a directory reports them, a bucket does not."""
        try:
            await obstore.delete_async(self._backend, keys)
        except FileNotFoundError:
            for key in keys:
                await _ignore_missing(obstore.delete_async(self._backend, key))

    def _check_size(self, size_bytes: int) -> None:
        most = self._settings.max_object_bytes
        if size_bytes > most:
            raise InvalidArgument(Reason.MESSAGE_TOO_LARGE, f"an object may have at most {most} bytes")

    @asynccontextmanager
    async def _mapped(self, size_bytes: int = 0) -> AsyncIterator[None]:
        """Bound an operation in time and map what the store's client raises."""
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                yield
        except FileNotFoundError as error:
            raise NotFound(Reason.OBJECT_NOT_FOUND, "object not found") from error
        except AlreadyExistsError as error:
            raise AlreadyExists(Reason.ALREADY_EXISTS, "an object with this key exists") from error
        except TimeoutError as error:
            raise _unavailable("did not answer in time") from error
        except (BaseError, OSError) as error:
            if self._root is not None and not await asyncio.to_thread(has_room, self._root, size_bytes):
                raise ResourceExhausted(Reason.STORAGE_FULL, "the object store has no room left") from error
            raise _unavailable("cannot be used now") from error


async def _ignore_missing(deletion: Awaitable[T]) -> None:
    try:
        await deletion
    except FileNotFoundError:
        return


def _unavailable(what: str) -> Unavailable:
    return Unavailable(Reason.OBJECT_STORE_UNAVAILABLE, f"the object store {what}")
