"""The errors that name a resource of memory."""

from __future__ import annotations

from mesh.kernel.errors import Aborted, ErrorDetails, NotFound, Resource, not_found
from mesh.kernel.reasons import Reason


def fact_not_found(fact_id: str) -> NotFound:
    """Return the error for a fact that does not exist for this user; another user's fact is answered alike."""
    return not_found(Reason.FACT_NOT_FOUND, "fact", fact_id)


def dialog_not_found(dialog_key: str) -> NotFound:
    """Return the error for a dialog that does not exist for this user (G15: an unknown parent is no empty list)."""
    return not_found(Reason.DIALOG_NOT_FOUND, "dialog", dialog_key)


def fact_changed(fact_id: str) -> Aborted:
    """Return the error for a change that was made for an older version of a fact."""
    details = ErrorDetails(resource=Resource("fact", fact_id))
    return Aborted(Reason.ETAG_MISMATCH, "the fact changed since it was read; read it again", details)
