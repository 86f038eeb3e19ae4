"""Field masks of updates: which fields of a resource a request may and does change."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.kernel.errors import invalid_field


def masked_fields(paths: Iterable[str], updatable: frozenset[str]) -> frozenset[str]:
    """Return the fields to update.

    Args:
        paths: the mask as it came; `*` alone stands for every updatable field (AIP-134).
        updatable: fields that a caller may change.

    Raises:
        InvalidArgument: the mask is empty or names a field that cannot be updated.
    """
    wanted = frozenset(paths)
    if not wanted:
        raise invalid_field("update_mask", "must name at least one field", "REQUIRED")
    if wanted == {"*"}:
        return updatable
    unknown = sorted(wanted - updatable)
    if unknown:
        allowed = ", ".join(sorted(updatable))
        raise invalid_field("update_mask", f"may only name: {allowed}", "FIELD_NOT_UPDATABLE")
    return wanted
