"""Facts: keyed statements about a user, and what becomes of a new one beside those that are active.

`decide` is the whole life of a fact in one pure function, so that its promises can be tested without a database: a fact
may only retire facts with the same subject and key; what is retired is kept and names its successor; a less trusted
source corrects nothing; something said earlier does not replace something said later; and however often the same is
said, one active copy remains (G4, L10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.domain.errors import fact_changed
from memory.domain.lexical import Lexemes, lexemes, same_figures, same_words

DEFAULT_SUBJECT = "user"


class FactKind(StrEnum):
    """What sort of statement a fact is."""

    FACT = "fact"
    EVENT = "event"
    INSTRUCTION = "instruction"
    TASK = "task"
    PROCEDURE = "procedure"


class FactTrust(StrEnum):
    """Where a fact's truth comes from."""

    USER_SAID = "user_said"
    ASSISTANT_INFERRED = "assistant_inferred"
    DOCUMENT = "document"
    TOOL = "tool"
    IMPORT = "import"

    @property
    def rank(self) -> int:
        """Higher ranks correct lower ones: the user, a document, a tool's result, an import, an inference."""
        return _RANKS[self]


_RANKS = {
    FactTrust.USER_SAID: 5,
    FactTrust.DOCUMENT: 4,
    FactTrust.TOOL: 3,
    FactTrust.IMPORT: 2,
    FactTrust.ASSISTANT_INFERRED: 1,
}


class FactStatus(StrEnum):
    """The life of a fact."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DELETED = "deleted"


class Outcome(StrEnum):
    """What became of a stated fact."""

    CREATED = "created"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fact was learned; all empty when it was stated directly."""

    session_id: str | None = None
    seq: int | None = None
    turn_id: str | None = None
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact as it was stated; lengths and alphabets were checked at the contract or by the extractor.

    Args:
        key: snake_case.
        value: as the user would write it.
        observed_at: when it was said, UTC.
        subject: whom it is about.
        kind: what sort of statement it is.
        category: a group for people who browse; may be empty.
        confidence: 0 to 1.
        trust: where its truth comes from.
        multiple: True when several values of the key hold at once.
        origin: where it was learned.
        valid_from: since when it holds in the world; for an event, when it happens.
        valid_to: until when it holds.
        retract: True when nothing is stated but taken back: facts of the subject and key with this value (any value,
            when it is empty) hold no longer.
    """

    key: str
    value: str
    observed_at: datetime
    subject: str = DEFAULT_SUBJECT
    kind: FactKind = FactKind.FACT
    category: str = ""
    confidence: float = 1.0
    trust: FactTrust = FactTrust.USER_SAID
    multiple: bool = False
    origin: Origin = Origin()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retract: bool = False

    @property
    def lexemes(self) -> Lexemes:
        """What the lexical arm stores: the words of subject, key, category and value, not those of the excerpt."""
        return lexemes(f"{self.embedded_text} {self.category.replace('_', ' ')}")

    @property
    def embedded_text(self) -> str:
        """What the embedder reads, such as `user home city: Lviv`."""
        about = f"{self.subject} {self.key}".replace("_", " ").replace(".", " ")
        return f"{about}: {self.value}"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it is stored; the fields are the columns."""

    id: str
    avatar_id: str | None
    subject: str
    kind: FactKind
    category: str
    fact_key: str
    fact_value: str
    confidence: float
    trust: FactTrust
    multiple: bool
    status: FactStatus
    source_session_id: str | None
    source_seq: int | None
    source_turn_id: str | None
    source_excerpt: str
    observed_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    dedup_hash: bytes
    superseded_by: str | None
    revision: int
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime
    deleted_at: datetime | None

    def __post_init__(self) -> None:
        # Columns and stored answers come as plain text.
        object.__setattr__(self, "kind", FactKind(self.kind))
        object.__setattr__(self, "trust", FactTrust(self.trust))
        object.__setattr__(self, "status", FactStatus(self.status))

    @property
    def etag(self) -> str:
        """The text that changes with every change; being put before a model is none."""
        return str(self.revision)

    def require_etag(self, etag: str) -> None:
        """Refuse a change that was made for another version; an empty etag changes whatever is there (AIP-154).

        Raises:
            Aborted: the fact changed since (ETAG_MISMATCH).
        """
        if etag and etag != self.etag:
            raise fact_changed(self.id)


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts to list; None and empty texts filter nothing."""

    statuses: Sequence[FactStatus]
    avatar_id: str = ""
    key: str = ""
    turn_id: str = ""


@dataclass(frozen=True, slots=True)
class Rival:
    """An active fact with the subject and key of a new one.

    Args:
        fact: the active fact.
        distance: cosine distance of the two, 0 to 2; None when one of them has no vector.
    """

    fact: Fact
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a new fact.

    Args:
        outcome: what the caller is told.
        kept: the active fact that stays: the equal one, or the one that was not corrected.
        retired: active facts that the new one supersedes.
        late: True when the new fact was said before `kept` and is stored as its history.
    """

    outcome: Outcome
    kept: Fact | None = None
    retired: tuple[Fact, ...] = ()
    late: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """A stated fact and what became of it.

    Args:
        outcome: what happened.
        fact: the fact that is active now; for a retraction, the one that holds no longer.
        superseded_fact_id: the fact that was superseded; empty otherwise.
    """

    outcome: Outcome
    fact: Fact
    superseded_fact_id: str = ""


def dedup_hash(avatar_id: str | None, key: str, value: str) -> bytes:
    """Return what makes a fact the same: 32 bytes. Source: L10, SHA-256 of `{avatar_id}:{fact_key}:{fact_value}`."""
    return hashlib.sha256(f"{avatar_id or ''}:{key}:{value}".encode()).digest()


def decide(new: NewFact, digest: bytes, rivals: Sequence[Rival], max_distance: float) -> Decision:
    """Return what becomes of a new fact.

    Args:
        new: the stated fact.
        digest: its `dedup_hash`.
        rivals: every active fact of the same user, avatar, subject and key.
        max_distance: two values of a key with several are the same when their cosine distance is at most this.
    """
    same = _same(new, digest, rivals)
    if same is not None:
        return Decision(Outcome.UNCHANGED if same.dedup_hash == digest else Outcome.MERGED, kept=same)
    if new.multiple:
        close = _closest(new, rivals, max_distance)
        return Decision(Outcome.MERGED, kept=close) if close else Decision(Outcome.CREATED)
    facts = tuple(rival.fact for rival in rivals)
    if not facts:
        return Decision(Outcome.CREATED)
    trusted = max(facts, key=lambda fact: (fact.trust.rank, fact.observed_at))
    if trusted.trust.rank > new.trust.rank:
        return Decision(Outcome.REFUSED, kept=trusted)
    newest = max(facts, key=lambda fact: fact.observed_at)
    if newest.observed_at > new.observed_at:
        return Decision(Outcome.SUPERSEDED, kept=newest, late=True)
    return Decision(Outcome.SUPERSEDED, retired=facts)


def taken_back(new: NewFact, rivals: Sequence[Rival]) -> list[Fact]:
    """Return the active facts that a retraction ends: not those that were said after it or by somebody more trusted."""
    return [
        rival.fact
        for rival in rivals
        if rival.fact.observed_at <= new.observed_at
        and rival.fact.trust.rank <= new.trust.rank
        and (not new.value or same_words(new.value, rival.fact.fact_value))
    ]


def _same(new: NewFact, digest: bytes, rivals: Sequence[Rival]) -> Fact | None:
    """Return the active fact that says the same, exactly or in the same words; of several, one with the same date."""
    facts = [rival.fact for rival in rivals if _may_be_same_event(new, rival.fact)]
    exact = [fact for fact in facts if fact.dedup_hash == digest]
    found = exact or [fact for fact in facts if same_words(new.value, fact.fact_value)]
    return min(found, key=lambda fact: fact.valid_from != new.valid_from, default=None)


def _may_be_same_event(new: NewFact, fact: Fact) -> bool:
    """Tell that two statements are not about two days: a dentist in May is another one than a dentist in June."""
    if FactKind.EVENT not in (new.kind, fact.kind):
        return True
    return new.valid_from is None or fact.valid_from is None or new.valid_from == fact.valid_from


def _closest(new: NewFact, rivals: Sequence[Rival], max_distance: float) -> Fact | None:
    near = [
        (rival.distance, rival.fact)
        for rival in rivals
        if rival.distance is not None
        and rival.distance <= max_distance
        and _may_be_same_event(new, rival.fact)
        and same_figures(new.value, rival.fact.fact_value)
    ]
    return min(near, key=lambda pair: pair[0])[1] if near else None
