"""The object store: the same behaviour in memory and in a directory."""

from __future__ import annotations

import asyncio
import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mesh.kernel.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
)
from mesh.kernel.reasons import Reason
from mesh.objects import store as store_module
from mesh.objects.keys import object_key, tenant_prefix
from mesh.objects.settings import ObjectStoreSettings
from mesh.objects.store import DELETED_AT_ONCE, ObjectStore

KEY = object_key("acme", "users", "u1", "photo.png")


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    url = "memory://" if request.param == "memory" else (tmp_path / "objects").as_uri()
    return ObjectStore(url, ObjectStoreSettings(max_object_bytes=1000, timeout_s=5))


async def test_written_object_is_read_whole(store: ObjectStore) -> None:
    await store.put(KEY, bytes(range(256)))
    assert await store.get(KEY) == bytes(range(256))


async def test_empty_object_is_an_object(store: ObjectStore) -> None:
    await store.put(KEY, b"")
    assert await store.get(KEY) == b""


async def test_head_tells_size_time_and_tag(store: ObjectStore) -> None:
    await store.put(KEY, b"12345")
    info = await store.head(KEY)
    assert (info.key, info.size_bytes) == (KEY, 5)
    assert abs(datetime.now(UTC) - info.modified_at) < timedelta(minutes=1)
    await store.put(KEY, b"123456", mode="overwrite")
    assert (await store.head(KEY)).etag != info.etag


async def test_create_refuses_an_existing_key_and_keeps_its_bytes(store: ObjectStore) -> None:
    await store.put(KEY, b"first")
    with pytest.raises(AlreadyExists) as caught:
        await store.put(KEY, b"second")
    assert caught.value.reason is Reason.ALREADY_EXISTS
    assert await store.get(KEY) == b"first"


async def test_of_many_creators_one_wins(store: ObjectStore) -> None:
    results = await asyncio.gather(*(store.put(KEY, bytes([n])) for n in range(8)), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["AlreadyExists"] * 7 + ["NoneType"]


async def test_overwrite_replaces(store: ObjectStore) -> None:
    await store.put(KEY, b"first", mode="overwrite")
    await store.put(KEY, b"second", mode="overwrite")
    assert await store.get(KEY) == b"second"


async def test_missing_object_is_not_found(store: ObjectStore) -> None:
    for operation in (store.get(KEY), store.head(KEY)):
        with pytest.raises(NotFound) as caught:
            await operation
        assert caught.value.reason is Reason.OBJECT_NOT_FOUND


async def test_delete_is_idempotent(store: ObjectStore) -> None:
    await store.put(KEY, b"x")
    await store.delete(KEY)
    await store.delete(KEY)
    with pytest.raises(NotFound):
        await store.get(KEY)


async def test_delete_prefix_deletes_what_is_below_it_and_nothing_else(store: ObjectStore) -> None:
    mine = [object_key("acme", "users", "u1", str(number)) for number in range(5)]
    others = [object_key("acme", "users", "u11", "a"), object_key("beta", "users", "u1", "a")]
    for key in mine + others:
        await store.put(key, b"x")
    assert await store.delete_prefix(tenant_prefix("acme", "users", "u1")) == 5
    assert await store.delete_prefix(tenant_prefix("acme", "users", "u1")) == 0
    for key in others:
        assert await store.get(key) == b"x"


async def test_delete_prefix_goes_on_after_a_batch(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert DELETED_AT_ONCE == 1000
    monkeypatch.setattr(store_module, "DELETED_AT_ONCE", 2)
    for number in range(5):
        await store.put(object_key("acme", str(number)), b"x")
    assert await store.delete_prefix(tenant_prefix("acme")) == 5


@pytest.mark.parametrize("key", ["", "/", "../x", "a//b", "a/../b", "/etc/passwd", "a/", "a\x00"])
async def test_illegal_key_is_refused_by_every_operation(store: ObjectStore, key: str) -> None:
    for operation in (store.put(key, b""), store.get(key), store.head(key), store.delete(key)):
        with pytest.raises(InvalidArgument):
            await operation


async def test_object_over_the_bound_is_neither_written_nor_read(tmp_path: Path) -> None:
    url = (tmp_path / "objects").as_uri()
    small = ObjectStore(url, ObjectStoreSettings(max_object_bytes=10))
    with pytest.raises(InvalidArgument) as caught:
        await small.put(KEY, b"x" * 11)
    assert caught.value.reason is Reason.MESSAGE_TOO_LARGE
    await ObjectStore(url).put(KEY, b"x" * 11)
    with pytest.raises(InvalidArgument):
        await small.get(KEY)


async def test_object_in_a_directory_outlives_the_store(tmp_path: Path) -> None:
    url = (tmp_path / "objects").as_uri()
    await ObjectStore(url).put(KEY, b"kept")
    assert await ObjectStore(url).get(KEY) == b"kept"
    assert (tmp_path / "objects" / KEY).read_bytes() == b"kept"


async def test_deleting_the_last_object_leaves_no_folders_with_its_names(tmp_path: Path) -> None:
    store = ObjectStore((tmp_path / "objects").as_uri())
    await store.put(KEY, b"x")
    await store.delete(KEY)
    assert list((tmp_path / "objects").iterdir()) == []


async def test_directory_that_went_away_is_unavailable_and_comes_back(tmp_path: Path) -> None:
    store = ObjectStore((tmp_path / "objects").as_uri())
    (tmp_path / "objects").rmdir()
    (tmp_path / "objects").write_bytes(b"a file in its place")
    with pytest.raises(Unavailable) as caught:
        await store.put(KEY, b"x")
    assert caught.value.reason is Reason.OBJECT_STORE_UNAVAILABLE
    assert str(tmp_path) not in caught.value.message
    (tmp_path / "objects").unlink()
    await store.put(KEY, b"x")
    assert await store.get(KEY) == b"x"


async def test_full_disk_has_its_own_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore((tmp_path / "objects").as_uri())
    (tmp_path / "objects").rmdir()
    (tmp_path / "objects").write_bytes(b"")
    monkeypatch.setattr(store_module, "has_room", lambda _root, _size: False)
    with pytest.raises(ResourceExhausted) as caught:
        await store.put(KEY, b"x")
    assert caught.value.reason is Reason.STORAGE_FULL


async def test_bucket_that_does_not_answer_is_unavailable_within_the_bound() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        settings = ObjectStoreSettings(
            endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}",
            region="us-east-1",
            access_key_id="id",
            secret_access_key="secret",
            timeout_s=0.5,
        )
        store = ObjectStore("s3://bucket/prefix", settings)
        began = time.monotonic()
        with pytest.raises(Unavailable) as caught:
            await store.get(KEY)
    assert time.monotonic() - began < 2
    assert caught.value.reason is Reason.OBJECT_STORE_UNAVAILABLE
    assert "secret" not in repr(settings).replace("secret_access_key", "")


@pytest.mark.parametrize("url", ["", "objects", "file://", "file:///", "http://x/y", "s3://", "gs://", "az://a/b"])
def test_url_of_no_known_kind_is_refused_with_the_setting(url: str) -> None:
    with pytest.raises(FailedPrecondition) as caught:
        ObjectStore(url)
    assert caught.value.reason is Reason.CONFIGURATION_INVALID
    assert "MNEMESH_OBJECT_STORE_URL" in caught.value.message


@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_create_also_holds_for_objects_that_clients_like_to_send_in_parts(kind: str, tmp_path: Path) -> None:
    store = ObjectStore("memory://" if kind == "memory" else (tmp_path / "objects").as_uri())
    data = bytes(12 * 1024 * 1024)
    await store.put(KEY, data)
    with pytest.raises(AlreadyExists):
        await store.put(KEY, data[:-1])
    assert (await store.head(KEY)).size_bytes == len(data)
