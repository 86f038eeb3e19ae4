"""Identifiers: UUIDs as canonical lower-case text."""

from __future__ import annotations

import uuid


def new_id() -> str:
    """Return a random UUID in canonical lower-case form."""
    return str(uuid.uuid4())


def derived_id(namespace: str, *parts: str) -> str:
    """Return the UUID that the same parts always give. Source: RFC 9562 section 5.5 (version 5).

    Parts are length-prefixed, so `("ab", "c")` and `("a", "bc")` differ.
    """
    name = namespace + "".join(f"\x1f{len(part)}:{part}" for part in parts)
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def is_uuid(value: str) -> bool:
    """Tell whether a text is a UUID in canonical lower-case form."""
    try:
        return str(uuid.UUID(value)) == value
    except ValueError:
        return False
