"""Between messages and domain values. Ids become canonical lower case on the way in."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from gateway.domain.api_key import ApiKey, NewApiKey
from gateway.domain.avatar import Avatar
from gateway.domain.chat import ChatMessage
from gateway.domain.session import NewSession, Session, SessionEdit
from mnemesh.gateway.v1 import (
    api_key_pb2,
    api_key_service_pb2,
    avatar_pb2,
    chat_service_pb2,
    session_pb2,
    session_service_pb2,
)

_STATUS = {
    "active": session_pb2.SESSION_STATUS_ACTIVE,
    "deleted": session_pb2.SESSION_STATUS_DELETED,
}


def timestamp(at: datetime | None) -> Timestamp | None:
    """Return an instant as a message; None stays absent."""
    if at is None:
        return None
    message = Timestamp()
    message.FromDatetime(at.astimezone(UTC))
    return message


def session(value: Session) -> session_pb2.Session:
    """Return a session as its message."""
    return session_pb2.Session(
        id=value.id,
        avatar_id=value.avatar_id,
        name=value.name,
        description=value.description,
        status=_STATUS[value.status],
        create_time=timestamp(value.created_at),
        update_time=timestamp(value.updated_at),
        delete_time=timestamp(value.deleted_at),
        etag=value.etag,
    )


def new_session(request: session_service_pb2.CreateSessionRequest) -> NewSession:
    """Return what a caller gives to create a session."""
    return NewSession(request.avatar_id.lower(), request.name, request.description)


def session_edit(request: session_service_pb2.UpdateSessionRequest) -> SessionEdit:
    """Return the change that a caller asks for."""
    given = request.session
    return SessionEdit(
        id=given.id.lower(),
        etag=given.etag,
        mask=tuple(request.update_mask.paths),
        name=given.name,
        description=given.description,
    )


def avatar(value: Avatar) -> avatar_pb2.Avatar:
    """Return an avatar as its message, all 17 columns."""
    message = avatar_pb2.Avatar(
        uid=value.uid,
        avatar_id=value.avatar_id,
        creator_id=value.creator_id,
        name=value.name,
        system_prompt=value.system_prompt,
        lora_adapter_path=value.lora_adapter_path,
        lora_quality_passed=value.lora_quality_passed,
        collection_name=value.collection_name,
        voice_clone_path=value.voice_clone_path,
        voice_clone_text=value.voice_clone_text,
        description=value.description,
        tags=value.tags,
        preview_url=value.preview_url,
        elevenlabs_voice_id=value.elevenlabs_voice_id,
        create_time=timestamp(value.created_at),
        update_time=timestamp(value.updated_at),
    )
    message.customization.SetInParent()
    message.customization.update(value.customization)
    return message


def api_key(value: ApiKey) -> api_key_pb2.ApiKey:
    """Return a key as its message, without its secret."""
    return api_key_pb2.ApiKey(
        id=value.id,
        prefix=value.prefix,
        display_name=value.display_name,
        user_id=value.user_id,
        scopes=value.scopes,
        create_time=timestamp(value.created_at),
        expire_time=timestamp(value.expires_at),
        revoke_time=timestamp(value.revoked_at),
        last_use_time=timestamp(value.last_used_at),
    )


def new_api_key(request: api_key_service_pb2.CreateApiKeyRequest, caller_id: str) -> NewApiKey:
    """Return what a caller gives to create a key; without a user it is the caller's own."""
    ends = request.expire_time.ToDatetime(UTC) if request.HasField("expire_time") else None
    return NewApiKey(request.display_name, request.user_id.lower() or caller_id, tuple(request.scopes), ends)


def chat_message(request: chat_service_pb2.ConverseRequest) -> ChatMessage:
    """Return what a user says."""
    return ChatMessage(request.session_id.lower(), request.text, request.request_id.lower(), request.time_zone)
