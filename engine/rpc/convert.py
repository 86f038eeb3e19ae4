"""Protobuf messages to domain values and back."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from google.protobuf.timestamp_pb2 import Timestamp

from engine.domain import stream
from engine.domain.avatar import Avatar
from engine.domain.errors import is_retryable
from engine.domain.recall import Recalled, RecalledChunk, RecalledFact
from engine.domain.turn import Message, Model, Turn, TurnState
from engine.domain.usage import Tokens
from mnemesh.conversation.v1 import conversation_service_pb2, event_pb2, turn_pb2
from mnemesh.memory.v1.chunk_pb2 import Chunk
from mnemesh.memory.v1.fact_pb2 import Fact
from mnemesh.memory.v1.recall_service_pb2 import DegradedArm

_STATES = {
    TurnState.RUNNING: turn_pb2.TURN_STATE_RUNNING,
    TurnState.COMMITTED: turn_pb2.TURN_STATE_COMMITTED,
    TurnState.FAILED: turn_pb2.TURN_STATE_FAILED,
}


def message(request: conversation_service_pb2.ConverseRequest) -> Message:
    """Return the message to answer. UUIDs are put into their canonical form, lower case."""
    return Message(
        session_id=request.session_id.lower(),
        avatar=_avatar(request.avatar),
        text=request.text,
        request_id=request.request_id.lower(),
        time_zone=request.time_zone,
    )


def response(event: stream.StreamEvent) -> conversation_service_pb2.ConverseResponse:
    """Return an event of the stream as it goes out."""
    answer = conversation_service_pb2.ConverseResponse()
    answer.cursor.epoch = event.epoch
    answer.cursor.sequence = event.sequence
    match event.payload:
        case stream.Started() as started:
            answer.session_start.CopyFrom(_session_start(started))
        case stream.ContextReady(recalled):
            answer.context.CopyFrom(_context(recalled))
        case stream.Delta(text):
            answer.delta.text = text
        case stream.UsageKnown(tokens):
            answer.usage.CopyFrom(_usage(tokens))
        case stream.Committed() as committed:
            answer.committed.CopyFrom(_committed(committed))
        case stream.Failed() as failed:
            answer.error.CopyFrom(_error(failed))
        case _:
            assert_never(event.payload)
    return answer


def turn(stored: Turn) -> turn_pb2.Turn:
    """Return a stored turn as it goes out."""
    answer = turn_pb2.Turn(
        id=stored.id,
        session_id=stored.session_id,
        state=_STATES[stored.state],
        user_text=stored.user_text,
        assistant_text=stored.assistant_text,
        user_seq=stored.user_seq,
        assistant_seq=stored.assistant_seq,
        model=_model(stored.model),
        failure_reason=stored.failure_reason,
        create_time=_time(stored.create_time),
        request_id=stored.request_id,
    )
    if stored.tokens is not None:
        answer.usage.CopyFrom(_usage(stored.tokens))
    if stored.end_time is not None:
        answer.end_time.FromDatetime(stored.end_time)
    return answer


def _avatar(profile: conversation_service_pb2.AvatarProfile) -> Avatar:
    return Avatar(
        uid=profile.uid.lower(),
        slug=profile.slug,
        name=profile.name,
        system_prompt=profile.system_prompt,
        lora_adapter_path=profile.lora_adapter_path,
        lora_quality_passed=profile.lora_quality_passed,
        collection_name=profile.collection_name,
        voice_clone_path=profile.voice_clone_path,
        voice_clone_text=profile.voice_clone_text,
    )


def _session_start(started: stream.Started) -> event_pb2.SessionStart:
    avatar = started.avatar
    return event_pb2.SessionStart(
        session_id=started.session_id,
        turn_id=started.turn_id,
        user_seq=started.user_seq,
        accept_time=_time(started.accept_time),
        avatar_slug=avatar.slug,
        avatar_name=avatar.name,
        lora_name=avatar.lora_name,
        collection_name=avatar.collection_name,
        voice_clone_path=avatar.voice_clone_path,
        voice_clone_text=avatar.voice_clone_text,
        model=_model(started.model),
        replayed=started.replayed,
    )


def _context(recalled: Recalled) -> event_pb2.Context:
    return event_pb2.Context(
        facts=[event_pb2.RecalledFact(fact=_fact(fact), score=fact.score) for fact in recalled.facts],
        chunks=[event_pb2.RecalledChunk(chunk=_chunk(chunk), score=chunk.score) for chunk in recalled.chunks],
        skipped=[DegradedArm(arm=skipped.arm, reason=skipped.reason) for skipped in recalled.skipped],
    )


def _fact(fact: RecalledFact) -> Fact:
    # A replayed turn knows ids and revisions only: what was recalled may have been erased since.
    return Fact.FromString(fact.message) if fact.message else Fact(id=fact.id, etag=fact.revision)


def _chunk(chunk: RecalledChunk) -> Chunk:
    return Chunk.FromString(chunk.message) if chunk.message else Chunk(id=chunk.id)


def _committed(committed: stream.Committed) -> event_pb2.Committed:
    return event_pb2.Committed(
        turn_id=committed.turn_id,
        seq=committed.seq,
        usage=_usage(committed.tokens),
        model=_model(committed.model),
        commit_time=_time(committed.commit_time),
        finish_reason=committed.finish_reason,
    )


def _error(failed: stream.Failed) -> event_pb2.TurnError:
    error = failed.error
    return event_pb2.TurnError(
        turn_id=failed.turn_id,
        reason=error.reason.value,
        message=error.message,
        retryable=is_retryable(error),
        code=error.code.value,
    )


def _model(model: Model) -> event_pb2.ModelInfo:
    return event_pb2.ModelInfo(provider=model.provider, model=model.name)


def _usage(tokens: Tokens) -> event_pb2.Usage:
    return event_pb2.Usage(
        input_tokens=tokens.input_tokens, output_tokens=tokens.output_tokens, measured=tokens.measured
    )


def _time(at: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(at)
    return stamp
