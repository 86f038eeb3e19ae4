"""Messages of the contract into values of the domain, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from google.protobuf.message import Message as ProtoMessage
from google.protobuf.timestamp_pb2 import Timestamp

from memory.domain.chunk import Chunk, ChunkSource, Direction, Message
from memory.domain.fact import Fact, FactKind, FactStatus, FactTrust, NewFact, Origin, Outcome, Remembered
from memory.domain.retrieval import ChunkScope, Hit, Parts
from memory.domain.turn import Turn
from memory.usecase.facts import Deletion
from memory.usecase.recall import Degraded, RecallQuery
from mesh.kernel.clock import Clock
from mesh.kernel.errors import invalid_field
from mnemesh.memory.v1 import chunk_pb2, chunk_service_pb2, fact_pb2, fact_service_pb2, recall_service_pb2

FUTURE_TOLERANCE = timedelta(days=1)
"""How far ahead of our clock an observation may be: clocks differ, and a local time sent as UTC is off by hours."""

_SOURCES = {
    chunk_pb2.CHUNK_SOURCE_PROFILE: ChunkSource.PROFILE,
    chunk_pb2.CHUNK_SOURCE_PHOTO: ChunkSource.PHOTO,
    chunk_pb2.CHUNK_SOURCE_NOTE: ChunkSource.NOTE,
    chunk_pb2.CHUNK_SOURCE_CONVERSATION: ChunkSource.CONVERSATION,
    chunk_pb2.CHUNK_SOURCE_SUMMARY: ChunkSource.SUMMARY,
}
_DIRECTIONS = {
    chunk_pb2.MESSAGE_DIRECTION_INCOMING: Direction.INCOMING,
    chunk_pb2.MESSAGE_DIRECTION_OUTGOING: Direction.OUTGOING,
}
_KINDS = {
    fact_pb2.FACT_KIND_FACT: FactKind.FACT,
    fact_pb2.FACT_KIND_EVENT: FactKind.EVENT,
    fact_pb2.FACT_KIND_INSTRUCTION: FactKind.INSTRUCTION,
    fact_pb2.FACT_KIND_TASK: FactKind.TASK,
    fact_pb2.FACT_KIND_PROCEDURE: FactKind.PROCEDURE,
}
_TRUSTS = {
    fact_pb2.FACT_TRUST_USER_SAID: FactTrust.USER_SAID,
    fact_pb2.FACT_TRUST_ASSISTANT_INFERRED: FactTrust.ASSISTANT_INFERRED,
    fact_pb2.FACT_TRUST_DOCUMENT: FactTrust.DOCUMENT,
    fact_pb2.FACT_TRUST_TOOL: FactTrust.TOOL,
    fact_pb2.FACT_TRUST_IMPORT: FactTrust.IMPORT,
}
_STATUSES = {
    fact_pb2.FACT_STATUS_ACTIVE: FactStatus.ACTIVE,
    fact_pb2.FACT_STATUS_SUPERSEDED: FactStatus.SUPERSEDED,
    fact_pb2.FACT_STATUS_DELETED: FactStatus.DELETED,
}
_OUTCOMES = {
    Outcome.CREATED: fact_pb2.FACT_OUTCOME_CREATED,
    Outcome.MERGED: fact_pb2.FACT_OUTCOME_MERGED,
    Outcome.SUPERSEDED: fact_pb2.FACT_OUTCOME_SUPERSEDED,
    Outcome.UNCHANGED: fact_pb2.FACT_OUTCOME_UNCHANGED,
    Outcome.REFUSED: fact_pb2.FACT_OUTCOME_REFUSED,
}
_SOURCE_NUMBERS = {value: number for number, value in _SOURCES.items()}
_DIRECTION_NUMBERS = {value: number for number, value in _DIRECTIONS.items()}
_KIND_NUMBERS = {value: number for number, value in _KINDS.items()}
_TRUST_NUMBERS = {value: number for number, value in _TRUSTS.items()}
_STATUS_NUMBERS = {value: number for number, value in _STATUSES.items()}


def instant(message: ProtoMessage, field: str, path: str = "") -> datetime | None:
    """Return a timestamp field as a UTC instant; None when it is absent.

    Args:
        message: the message that has the field.
        field: its name.
        path: what an error calls it; its name when empty.

    Raises:
        InvalidArgument: it is outside of the years 1 to 9999.
    """
    if not message.HasField(field):
        return None
    value: Timestamp = getattr(message, field)
    try:
        return value.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise invalid_field(path or field, "must be a time in the years 1 to 9999", "TIMESTAMP_RANGE") from None


def required_instant(message: ProtoMessage, field: str, path: str = "") -> datetime:
    """Return a timestamp field that the contract requires."""
    value = instant(message, field, path)
    if value is None:
        raise invalid_field(path or field, "is required", "REQUIRED")
    return value


def timestamp(value: datetime | None) -> Timestamp | None:
    """Return an instant as a message; None stays None, which leaves a field absent."""
    if value is None:
        return None
    message = Timestamp()
    message.FromDatetime(value)
    return message


def new_fact(message: fact_pb2.NewFact, index: int, clock: Clock) -> NewFact:
    """Return a stated fact.

    Args:
        message: as the caller states it.
        index: its place in the request, for errors.
        clock: what time it is, for a fact that was said 'now'.

    Raises:
        InvalidArgument: a time is out of range, or ends before it begins.
    """
    path = f"facts[{index}]"
    now = clock.now()
    observed_at = instant(message, "observe_time", f"{path}.observe_time") or now
    if observed_at > now + FUTURE_TOLERANCE:
        raise invalid_field(f"{path}.observe_time", "must not lie in the future", "TIMESTAMP_PAST")
    valid_from = instant(message, "valid_from_time", f"{path}.valid_from_time")
    valid_to = instant(message, "valid_to_time", f"{path}.valid_to_time")
    if valid_from and valid_to and valid_to < valid_from:
        raise invalid_field(f"{path}.valid_to_time", "must not be before valid_from_time", "TIMESTAMP_ORDER")
    return NewFact(
        key=message.key,
        value=message.value,
        observed_at=observed_at,
        subject=message.subject or "user",
        kind=_KINDS.get(message.kind, FactKind.FACT),
        category=message.category,
        confidence=message.confidence if message.HasField("confidence") else 1.0,
        trust=_TRUSTS.get(message.trust, FactTrust.USER_SAID),
        multiple=message.multiple,
        origin=_origin(message.source),
        valid_from=valid_from,
        valid_to=valid_to,
    )


def fact(value: Fact) -> fact_pb2.Fact:
    """Return a fact as a message."""
    return fact_pb2.Fact(
        id=value.id,
        avatar_id=value.avatar_id or "",
        subject=value.subject,
        kind=_KIND_NUMBERS[value.kind],
        category=value.category,
        key=value.fact_key,
        value=value.fact_value,
        confidence=value.confidence,
        trust=_TRUST_NUMBERS[value.trust],
        status=_STATUS_NUMBERS[value.status],
        source=fact_pb2.FactSource(
            session_id=value.source_session_id or "",
            seq=value.source_seq or 0,
            turn_id=value.source_turn_id or "",
            excerpt=value.source_excerpt,
        ),
        observe_time=timestamp(value.observed_at),
        valid_from_time=timestamp(value.valid_from),
        valid_to_time=timestamp(value.valid_to),
        create_time=timestamp(value.created_at),
        update_time=timestamp(value.updated_at),
        last_seen_time=timestamp(value.last_seen_at),
        delete_time=timestamp(value.deleted_at),
        superseded_by_id=value.superseded_by or "",
        etag=value.etag,
    )


def remembered(results: Iterable[Remembered]) -> list[fact_pb2.RememberedFact]:
    """Return what became of stated facts as messages."""
    return [
        fact_pb2.RememberedFact(
            outcome=_OUTCOMES[result.outcome],
            fact=fact(result.fact),
            superseded_fact_id=result.superseded_fact_id,
        )
        for result in results
    ]


def statuses(numbers: Iterable[fact_pb2.FactStatus.ValueType]) -> tuple[FactStatus, ...]:
    """Return fact statuses; the contract has refused unknown ones."""
    return tuple(_STATUSES[number] for number in numbers)


def deletion(request: fact_service_pb2.DeleteFactRequest) -> Deletion:
    """Return what a request wants deleted."""
    return Deletion(request.id.lower(), request.etag, request.delete_evidence)


def turn(request: fact_service_pb2.LearnFromTurnRequest) -> Turn:
    """Return the turn to learn from."""
    return Turn(
        session_id=request.session_id.lower(),
        turn_id=request.turn_id.lower(),
        user_seq=request.user_seq,
        assistant_seq=request.assistant_seq,
        avatar_id=request.avatar_id.lower(),
        avatar_name=request.avatar_name,
        user_text=request.user_text,
        assistant_text=request.assistant_text,
        assistant_grounded=request.assistant_grounded,
        at=required_instant(request, "turn_time"),
        zone=request.time_zone,
    )


def messages(request: chunk_service_pb2.IngestDialogRequest) -> list[Message]:
    """Return the messages to store."""
    return [
        Message(
            source_id=message.source_id,
            speaker=message.speaker,
            text=message.text,
            sent_at=required_instant(message, "sent_time", f"messages[{index}].sent_time"),
            session=message.session,
            direction=_DIRECTIONS.get(message.direction),
            image_caption=message.image_caption,
        )
        for index, message in enumerate(request.messages)
    ]


def chunk(value: Chunk) -> chunk_pb2.Chunk:
    """Return a chunk as a message."""
    return chunk_pb2.Chunk(
        id=value.id,
        dialog_key=value.dialog_key,
        avatar_id=value.avatar_id or "",
        source=_SOURCE_NUMBERS[value.source],
        source_id=value.source_id,
        session=value.session,
        speaker=value.speaker,
        text=value.text,
        direction=_DIRECTION_NUMBERS[value.direction] if value.direction else chunk_pb2.MESSAGE_DIRECTION_UNSPECIFIED,
        sent_time=timestamp(value.sent_at),
        tags=value.tags,
        create_time=timestamp(value.created_at),
    )


def search_scope(request: chunk_service_pb2.SearchChunksRequest, user_id: str) -> ChunkScope:
    """Return which chunks a search looks at."""
    return ChunkScope(
        user_id=user_id,
        dialog_key=request.dialog_key,
        avatar_id=request.avatar_id.lower(),
        sources=_sources(request.sources),
        sent_after=instant(request, "sent_after_time"),
        sent_before=instant(request, "sent_before_time"),
    )


def recall_query(request: recall_service_pb2.RecallRequest, user_id: str) -> RecallQuery:
    """Return the question to memory."""
    kinds = set(request.kinds)
    return RecallQuery(
        text=request.query,
        scope=ChunkScope(
            user_id=user_id,
            dialog_key=request.dialog_key,
            avatar_id=request.avatar_id.lower(),
            sources=_sources(request.sources),
            tags=tuple(request.tags),
            sent_after=instant(request, "sent_after_time"),
            sent_before=instant(request, "sent_before_time"),
            exclude_session=request.exclude_session,
        ),
        limit=request.limit,
        with_facts=not kinds or recall_service_pb2.RECALL_KIND_FACT in kinds,
        with_chunks=not kinds or recall_service_pb2.RECALL_KIND_CHUNK in kinds,
    )


def recall_result(hit: Hit, explain: bool) -> recall_service_pb2.RecallResult:
    """Return a result as a message, with the parts of its score when they were asked for."""
    result = recall_service_pb2.RecallResult(score=hit.score)
    if isinstance(hit.item, Fact):
        result.fact.CopyFrom(fact(hit.item))
    else:
        result.chunk.CopyFrom(chunk(hit.item))
    if explain:
        result.parts.extend(_parts(hit.parts))
    return result


def degraded(arms: Sequence[Degraded]) -> list[recall_service_pb2.DegradedArm]:
    """Return the missing arms as messages."""
    return [recall_service_pb2.DegradedArm(arm=arm.arm, reason=arm.reason) for arm in arms]


def _parts(parts: Parts) -> list[recall_service_pb2.ScorePart]:
    arms = (
        ("vector", parts.cosine, parts.vector_part),
        ("lexical", parts.bm25, parts.lexical_part),
        ("topic_key", parts.topic, parts.topic_part),
        ("neighbours", parts.neighbours_part, parts.neighbours_part),
        ("source", parts.spoke, parts.source_part),
        ("time", parts.timely, parts.time_part),
    )
    return [recall_service_pb2.ScorePart(arm=arm, value=value, contribution=added) for arm, value, added in arms]


def _sources(numbers: Iterable[chunk_pb2.ChunkSource.ValueType]) -> tuple[ChunkSource, ...]:
    return tuple(_SOURCES[number] for number in numbers)


def _origin(source: fact_pb2.FactSource) -> Origin:
    if not source.session_id and not source.turn_id:
        return Origin(excerpt=source.excerpt)
    return Origin(
        session_id=source.session_id.lower() or None,
        seq=source.seq if source.session_id else None,
        turn_id=source.turn_id.lower() or None,
        excerpt=source.excerpt,
    )
