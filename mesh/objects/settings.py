"""Where objects are kept. The metadata of each field is read by the settings loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


def _env(name: str, doc: str, *, secret: bool = False) -> Mapping[str, Any]:
    return {"env": name, "doc": doc, "secret": secret}


@dataclass(frozen=True, slots=True)
class ObjectStoreSettings:
    """Where objects are kept, and how long one operation may take.

    Args:
        url: `file:///directory`, `memory://`, `s3://bucket/prefix` or `gs://bucket/prefix`.
        endpoint: of an S3-compatible server; empty for Amazon's.
        region: of the bucket.
        access_key_id: for S3; empty takes the machine's own credentials.
        secret_access_key: for S3.
        timeout_s: the most time for one operation, repeats of the store's client included.
        max_object_bytes: the largest object that is written or read.
    """

    url: str = field(
        default="memory://",
        metadata=_env("MNEMESH_OBJECT_STORE_URL", "Where objects are kept: a file://, memory://, s3:// or gs:// URL."),
    )
    endpoint: str = field(
        default="", metadata=_env("MNEMESH_OBJECT_STORE_ENDPOINT", "Address of an S3-compatible server.")
    )
    region: str = field(default="", metadata=_env("MNEMESH_OBJECT_STORE_REGION", "Region of the bucket."))
    access_key_id: str = field(
        default="",
        metadata=_env("MNEMESH_OBJECT_STORE_ACCESS_KEY_ID", "S3 key id; unset takes the machine's own credentials."),
    )
    secret_access_key: str = field(
        default="",
        repr=False,
        metadata=_env("MNEMESH_OBJECT_STORE_SECRET_ACCESS_KEY", "S3 secret of that key id.", secret=True),
    )
    timeout_s: float = field(
        default=20.0, metadata=_env("MNEMESH_OBJECT_STORE_SECONDS", "Seconds that one operation may take.")
    )
    max_object_bytes: int = field(
        default=64 * 1024 * 1024, metadata=_env("MNEMESH_OBJECT_STORE_MAX_BYTES", "Largest object, in bytes.")
    )

    def __post_init__(self) -> None:
        if self.timeout_s <= 0 or self.max_object_bytes < 1:
            raise ValueError("MNEMESH_OBJECT_STORE_SECONDS and MNEMESH_OBJECT_STORE_MAX_BYTES must be positive")
