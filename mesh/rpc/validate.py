"""Validation interceptor: bytes become a message that obeys its contract, or the caller learns which field does not.

Requests are decoded here and not by gRPC, because gRPC answers undecodable bytes with UNKNOWN and the decoder's text,
and because callers without a credential should not cost a parse. The bytes also decide cheaply whether the text rule
has anything to look for: a string with a NUL character has a zero byte in its encoding.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any, cast

import protovalidate
from google.protobuf.message import DecodeError, Message

from mesh.kernel.errors import ErrorDetails, FieldViolation, InvalidArgument
from mesh.kernel.identity import Call, Principal
from mesh.kernel.reasons import Reason
from mesh.rpc.context import CALL
from mesh.rpc.method import REQUEST_ID_FIELD, Handler, Method, Rpc
from mesh.rpc.text import TextRule

_RULE_CHARS = str.maketrans({".": "_"})


class RequestReader:
    """Decodes and checks request messages."""

    def __init__(self) -> None:
        self._validator = protovalidate.Validator()
        self._text = TextRule()

    def warm(self, request: type[Message]) -> None:
        """Compile the rules of a request type, which takes milliseconds; broken rules show up now."""
        self._validator.collect_violations(request())

    def read(self, request: type[Message], raw: bytes) -> Message:
        """Return the message in some bytes.

        Raises:
            InvalidArgument: MALFORMED_MESSAGE, TEXT_NOT_STORABLE or INVALID_REQUEST.
        """
        try:
            message = request.FromString(raw)
        except DecodeError:
            raise _malformed(request) from None
        if 0 in raw:
            self._check_text(message)
        violations = self._validator.collect_violations(message)
        if violations:
            raise _invalid([_violation(violation.proto) for violation in violations])
        return message

    def _check_text(self, message: Message) -> None:
        broken = self._text.broken_fields(message)
        if broken:
            description = "must not contain the NUL character"
            violations = tuple(FieldViolation(path, description, "TEXT_NOT_STORABLE") for path in broken)
            details = ErrorDetails(violations=violations)
            raise InvalidArgument(Reason.TEXT_NOT_STORABLE, f"{broken[0]}: {description}", details)


class ValidationInterceptor:
    """Puts checked messages in the place of the request's bytes and publishes the call to the code inside."""

    name = "validation"
    requires = ("status", "authentication")

    def __init__(self, reader: RequestReader) -> None:
        self._reader = reader

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        self._reader.warm(method.request)
        return self._stream(method, proceed) if method.client_streaming else self._single(method, proceed)

    def _single(self, method: Method, proceed: Handler) -> Handler:
        async def handle(rpc: Rpc) -> bytes | None:
            message = self._reader.read(method.request, cast("bytes", rpc.request))
            rpc.request = message
            CALL.set(_call(method, cast("Principal", rpc.principal), message))
            return await proceed(rpc)

        return handle

    def _stream(self, method: Method, proceed: Handler) -> Handler:
        async def handle(rpc: Rpc) -> bytes | None:
            CALL.set(Call(cast("Principal", rpc.principal), method.path))
            rpc.request = self._messages(method, cast("AsyncIterator[bytes]", rpc.request))
            return await proceed(rpc)

        return handle

    async def _messages(self, method: Method, raw: AsyncIterator[bytes]) -> AsyncIterator[Message]:
        async for item in raw:
            yield self._reader.read(method.request, item)


def request_digest(message: Message) -> bytes:
    """Return the SHA-256 of a request without its `request_id`; equal requests have equal digests.

    Source: protobuf's deterministic serialization, which is stable within one binary, not across languages.
    """
    request_id = getattr(message, REQUEST_ID_FIELD)
    message.ClearField(REQUEST_ID_FIELD)
    try:
        return hashlib.sha256(message.SerializeToString(deterministic=True)).digest()
    finally:
        setattr(message, REQUEST_ID_FIELD, request_id)


def _call(method: Method, principal: Principal, message: Message) -> Call:
    if method.takes_request_id:
        request_id: str = getattr(message, REQUEST_ID_FIELD)
        if request_id:
            return Call(principal, method.path, request_id, request_digest(message))
    return Call(principal, method.path)


def _malformed(request: type[Message]) -> InvalidArgument:
    return InvalidArgument(
        Reason.MALFORMED_MESSAGE, f"the bytes of the request are not a valid {request.DESCRIPTOR.full_name}"
    )


def _invalid(violations: list[FieldViolation]) -> InvalidArgument:
    first = violations[0]
    where = f"{first.field}: " if first.field else ""
    details = ErrorDetails(violations=tuple(violations))
    return InvalidArgument(Reason.INVALID_REQUEST, where + first.description, details)


def _violation(proto: Any) -> FieldViolation:
    return FieldViolation(_path(proto.field), proto.message, proto.rule_id.upper().translate(_RULE_CHARS))


def _path(field: Any) -> str:
    return ".".join(_element(element) for element in field.elements) if field is not None else ""


def _element(element: Any) -> str:
    subscript = element.subscript
    if subscript is None:
        return str(element.field_name)
    shown = f'"{subscript.value}"' if subscript.field == "string_key" else subscript.value
    return f"{element.field_name}[{shown}]"
