"""The store behind a URL: a directory, memory, S3 or GCS, each configured so that it fails in bounded time."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from obstore.store import GCSStore, LocalStore, MemoryStore, S3Store

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.objects.settings import ObjectStoreSettings

Backend: TypeAlias = LocalStore | MemoryStore | S3Store | GCSStore

_CONNECT_TIMEOUT_S = 5.0
_RETRIES = 2


def connect(settings: ObjectStoreSettings) -> tuple[Backend, Path | None]:
    """Return the store of some settings, and its directory when it is one. Nothing remote is contacted.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, the URL is not one of the four kinds, or its directory cannot be
        made.
    """
    url = urlsplit(settings.url)
    if url.scheme == "memory":
        return MemoryStore(), None
    if url.scheme == "file" and url.path not in ("", "/") and url.netloc in ("", "localhost"):
        return _directory(Path(unquote(url.path)))
    if url.scheme == "s3" and url.netloc:
        return _s3(settings, url.netloc, url.path.strip("/")), None
    if url.scheme == "gs" and url.netloc:
        common = _remote(settings)
        return GCSStore(url.netloc, prefix=url.path.strip("/") or None, **common), None
    raise _invalid("must be file:///directory, memory://, s3://bucket or gs://bucket")


def _directory(root: Path) -> tuple[Backend, Path]:
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _invalid("names a directory that cannot be made") from error
    return LocalStore(root, automatic_cleanup=True), root


def _s3(settings: ObjectStoreSettings, bucket: str, prefix: str) -> S3Store:
    given = {
        "endpoint": settings.endpoint,
        "region": settings.region,
        "access_key_id": settings.access_key_id,
        "secret_access_key": settings.secret_access_key,
    }
    options: dict[str, Any] = {name: str(value) for name, value in given.items() if value}
    if settings.endpoint:
        options["virtual_hosted_style_request"] = False
    return S3Store(bucket, prefix=prefix or None, **options, **_remote(settings))


def _remote(settings: ObjectStoreSettings) -> dict[str, Any]:
    seconds = settings.timeout_s
    return {
        "client_options": {
            "timeout": timedelta(seconds=seconds),
            "connect_timeout": timedelta(seconds=min(seconds, _CONNECT_TIMEOUT_S)),
            "allow_http": settings.endpoint.startswith("http://"),
        },
        "retry_config": {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=seconds)},
    }


def sync_to_disk(root: Path, key: str) -> None:
    """Make a written file survive a loss of power: its bytes, and its name in every directory up to the root."""
    path = root / key
    for each in (path, *(parent for parent in path.parents if parent == root or root in parent.parents)):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def has_room(root: Path, size_bytes: int) -> bool:
    """Tell whether a file of that size fits on the disk of a directory."""
    found = os.statvfs(root)
    return found.f_bavail * found.f_frsize > size_bytes


def _invalid(what: str) -> FailedPrecondition:
    return FailedPrecondition(Reason.CONFIGURATION_INVALID, f"MNEMESH_OBJECT_STORE_URL {what}")
