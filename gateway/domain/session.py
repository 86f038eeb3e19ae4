"""Sessions: a conversation between one user and one avatar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mesh.kernel.errors import Aborted, ErrorDetails, NotFound, Resource, not_found
from mesh.kernel.masks import masked_fields
from mesh.kernel.reasons import Reason

ACTIVE = "active"
DELETED = "deleted"

UPDATABLE = frozenset({"name", "description"})
"""What a caller may change after creation; the avatar is fixed."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it is stored.

    Args:
        id: UUID.
        user_id: UUID of its owner; every query is scoped by it.
        avatar_id: the avatar's uid.
        name: at most 200 characters, empty when it has none.
        description: at most 2,000 characters, empty when it has none.
        status: `ACTIVE` or `DELETED`.
        created_at: UTC, the database's clock.
        updated_at: UTC; moves with every change, deletion included.
        deleted_at: UTC; set exactly when the status is `DELETED`.
        version: counts changes from 1; the etag shows it.
    """

    id: str
    user_id: str
    avatar_id: str
    name: str
    description: str
    status: str
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    version: int

    @property
    def etag(self) -> str:
        """The text that changes with every change."""
        return str(self.version)

    @property
    def is_deleted(self) -> bool:
        """True after its deletion."""
        return self.status == DELETED

    def require_etag(self, etag: str) -> None:
        """Refuse a change that was made for another version.

        Args:
            etag: what the caller read, or empty to change whatever is there (AIP-154).

        Raises:
            Aborted: the session changed since (ETAG_MISMATCH).
        """
        if etag and etag != self.etag:
            details = ErrorDetails(resource=Resource("session", self.id))
            raise Aborted(Reason.ETAG_MISMATCH, "the session changed since it was read; read it again", details)


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a caller gives to create a session; lengths were checked at the contract."""

    avatar_id: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class SessionChange:
    """New values of a session; None leaves the field as it is."""

    name: str | None
    description: str | None


@dataclass(frozen=True, slots=True)
class SessionEdit:
    """A change as a caller asks for it.

    Args:
        id: UUID of the session.
        etag: the etag that the caller read; empty to change whatever is there.
        mask: names of the fields to change, or `*`.
        name: the new name; counts only when the mask names it.
        description: the new description; counts only when the mask names it.
    """

    id: str
    etag: str
    mask: tuple[str, ...]
    name: str
    description: str

    def change(self) -> SessionChange:
        """Return the new values.

        Raises:
            InvalidArgument: the mask is empty or names a field that cannot be changed.
        """
        fields = masked_fields(self.mask, UPDATABLE)
        return SessionChange(
            name=self.name if "name" in fields else None,
            description=self.description if "description" in fields else None,
        )


def session_not_found(session_id: str) -> NotFound:
    """Return the error for a session that is not there, was deleted, or is another user's."""
    return not_found(Reason.SESSION_NOT_FOUND, "session", session_id)
