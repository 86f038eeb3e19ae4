"""Keys of objects: relative paths of plain segments, the tenant first.

A key is made here and nowhere else, so that no text of a caller becomes a path: every segment is of the alphabet that
file systems, S3 and GCS all keep as it is, and none can lead upwards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mesh.kernel.errors import invalid_field
from mesh.kernel.identity import is_tenant_id

MAX_SEGMENT_CHARS = 255
"""The longest file name of common file systems."""

MAX_KEY_CHARS = 1000
"""Below the 1024 bytes of S3 and GCS, so that a store's own prefix fits too."""

TENANTS = "tenants"
"""The first segment of every key, so that a bucket can be shared with something else."""

_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,255}")


def object_key(tenant_id: str, *segments: str) -> str:
    """Return the key of a tenant's object, `tenants/<tenant>/<segment>/…`.

    Args:
        tenant_id: the owner.
        segments: at least one; each 1 to 255 characters of `A-Z a-z 0-9 . _ -`, and neither `.` nor `..`.

    Raises:
        InvalidArgument: a segment or the whole key breaks these rules; the violation names `object_key`.
    """
    if not segments:
        raise invalid_field("object_key", "needs at least one segment", "OBJECT_KEY")
    return _joined(tenant_id, segments)


def tenant_prefix(tenant_id: str, *segments: str) -> str:
    """Return the prefix, with its final slash, of a tenant's objects below some segments.

    Raises:
        InvalidArgument: as `object_key`.
    """
    return _joined(tenant_id, segments) + "/"


def checked_key(key: str) -> str:
    """Return a key that was stored earlier, if it is still a legal one.

    Raises:
        InvalidArgument: it is not; the violation names `object_key`.
    """
    _check(key.split("/"))
    return key


def _joined(tenant_id: str, segments: Sequence[str]) -> str:
    if not is_tenant_id(tenant_id):
        raise invalid_field("object_key", "needs a tenant", "OBJECT_KEY")
    parts = [TENANTS, tenant_id, *segments]
    _check(parts)
    return "/".join(parts)


def _check(parts: Sequence[str]) -> None:
    fits = sum(len(part) + 1 for part in parts) <= MAX_KEY_CHARS
    if not fits or not all(_SEGMENT.fullmatch(part) for part in parts):
        raise invalid_field("object_key", "must be segments of A-Z a-z 0-9 . _ -, none of them . or ..", "OBJECT_KEY")
