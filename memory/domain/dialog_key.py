"""The key of a dialog that the caller did not name.

One function, one order of the parts: the source design had two, so the same pair of people could have two dialogs (S4).
"""

from __future__ import annotations

import hashlib


def dialog_key(user_id: str, avatar_id: str) -> str:
    """Return the key of the dialog of a user with an avatar: 64 hexadecimal digits.

    Args:
        user_id: UUID of the user.
        avatar_id: uid of the avatar; empty for the dialog with no avatar.

    Source: the source design's `sha256("dialog:<one>:<other>")`.
    """
    return hashlib.sha256(f"dialog:{user_id}:{avatar_id}".encode()).hexdigest()
