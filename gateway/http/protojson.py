"""Messages as JSON, written from their descriptors.

Source: protobuf.dev, 'ProtoJSON format', with two choices of this API: fields without presence are always written, so
that a caller sees every field that exists, and enum values are written without the prefix of their type (`ACTIVE` for
`SESSION_STATUS_ACTIVE`). A writer is compiled once a message type; the reader of requests is `gateway.http.jsonread`.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import orjson
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from gateway.http.names import enum_names

Writer: TypeAlias = Callable[[Any], Any]

_OWN_TEXT = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask"})
_OWN_FORM = frozenset(
    {
        "google.protobuf.Struct",
        "google.protobuf.Value",
        "google.protobuf.ListValue",
        "google.protobuf.Any",
        "google.protobuf.Empty",
        *(f"google.protobuf.{kind}Value" for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32")),
        *(f"google.protobuf.{kind}Value" for kind in ("Bool", "String", "Bytes")),
    }
)


def to_bytes(message: Message) -> bytes:
    """Return a message as compact JSON in UTF-8."""
    return orjson.dumps(to_value(message))


def to_value(message: Message) -> Any:
    """Return a message as what `json.loads` would give for its JSON."""
    return _message_writer(message.DESCRIPTOR)(message)


@cache
def _message_writer(descriptor: Descriptor) -> Writer:
    if descriptor.full_name in _OWN_TEXT:
        return lambda message: message.ToJsonString()
    if descriptor.full_name in _OWN_FORM:
        return json_format.MessageToDict
    fields = [
        (field.name, field.json_name or field.name, field.has_presence, _field_writer(field))
        for field in descriptor.fields
    ]

    def write(message: Any) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, json_name, presence, writer in fields:
            if not presence or message.HasField(name):
                out[json_name] = writer(getattr(message, name))
        return out

    return write


def _field_writer(field: FieldDescriptor) -> Writer:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        return _map_writer(message)
    one = _single_writer(field)
    if field.is_repeated:
        return lambda values: [one(value) for value in values]
    return one


def _map_writer(entry: Descriptor) -> Writer:
    value = _single_writer(entry.fields_by_name["value"])
    key = _key_text if entry.fields_by_name["key"].type == FieldDescriptor.TYPE_BOOL else str
    return lambda values: {key(name): value(item) for name, item in values.items()}


def _single_writer(field: FieldDescriptor) -> Writer:
    if field.message_type is not None:
        return _later(field.message_type)
    if field.enum_type is not None:
        return _enum_writer(field.enum_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _base64
    return _BY_CPP_TYPE.get(field.cpp_type, _same)


def _later(descriptor: Descriptor) -> Writer:
    """Return a writer that is compiled when it is first used, since a message may hold itself."""

    def write(message: Any) -> Any:
        return _message_writer(descriptor)(message)

    return write


def _enum_writer(enum: EnumDescriptor) -> Writer:
    names = enum_names(enum)
    return lambda number: names.get(number, number)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _same(value: Any) -> Any:
    return value


def _key_text(value: bool) -> str:
    return "true" if value else "false"


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _shortest(value: float) -> float:
    """Return the number with the fewest digits that is the same 32-bit float."""
    if not math.isfinite(value):
        return value
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        if _as_float32(short) == value:
            return short
    return float(f"{value:.9g}")


def _as_float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _float32(value: float) -> float | str:
    return _number(_shortest(value))


_BY_CPP_TYPE: dict[int, Writer] = {
    FieldDescriptor.CPPTYPE_INT64: str,
    FieldDescriptor.CPPTYPE_UINT64: str,
    FieldDescriptor.CPPTYPE_FLOAT: _float32,
    FieldDescriptor.CPPTYPE_DOUBLE: _number,
}
"""64-bit integers are texts in JSON, whose numbers hold 53 bits in many readers."""
