"""A message with every kind of field, made at run time, so that the codec is tested beyond today's contracts."""

from __future__ import annotations

from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.message_factory import GetMessageClass

_F = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "text": _F.TYPE_STRING,
    "flag": _F.TYPE_BOOL,
    "blob": _F.TYPE_BYTES,
    "int_32": _F.TYPE_INT32,
    "int_64": _F.TYPE_INT64,
    "uint_32": _F.TYPE_UINT32,
    "uint_64": _F.TYPE_UINT64,
    "sint_64": _F.TYPE_SINT64,
    "fixed_32": _F.TYPE_FIXED32,
    "real": _F.TYPE_DOUBLE,
    "small_real": _F.TYPE_FLOAT,
}
WELL_KNOWN = {
    "at": "google.protobuf.Timestamp",
    "lasting": "google.protobuf.Duration",
    "mask": "google.protobuf.FieldMask",
    "free": "google.protobuf.Struct",
    "anything": "google.protobuf.Value",
    "maybe_text": "google.protobuf.StringValue",
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="kinds.proto", package="kinds", syntax="proto3")
    for module in (timestamp_pb2, duration_pb2, field_mask_pb2, struct_pb2, wrappers_pb2):
        file.dependency.append(module.DESCRIPTOR.name)
    colour = file.enum_type.add(name="Colour")
    for number, name in enumerate(("NONE", "RED", "DARK_BLUE")):
        colour.value.add(name=name, number=number)
    level = file.enum_type.add(name="AlertLevel")
    for number, name in enumerate(("ALERT_LEVEL_UNSPECIFIED", "ALERT_LEVEL_HIGH")):
        level.value.add(name=name, number=number)
    message = file.message_type.add(name="Every")
    message.oneof_decl.add(name="choice")
    number = 0

    def add(name: str, kind: int, **more: Any) -> None:
        nonlocal number
        number += 1
        message.field.add(name=name, number=number, type=kind, label=more.pop("label", _F.LABEL_OPTIONAL), **more)

    for name, kind in SCALARS.items():
        add(name, kind)
        add(f"many_{name}", kind, label=_F.LABEL_REPEATED)
    for name, type_name in WELL_KNOWN.items():
        add(name, _F.TYPE_MESSAGE, type_name=f".{type_name}")
    add("colour", _F.TYPE_ENUM, type_name=".kinds.Colour")
    add("many_colour", _F.TYPE_ENUM, type_name=".kinds.Colour", label=_F.LABEL_REPEATED)
    add("level", _F.TYPE_ENUM, type_name=".kinds.AlertLevel")
    add("child", _F.TYPE_MESSAGE, type_name=".kinds.Every")
    add("children", _F.TYPE_MESSAGE, type_name=".kinds.Every", label=_F.LABEL_REPEATED)
    add("left", _F.TYPE_STRING, oneof_index=0)
    add("right", _F.TYPE_INT32, oneof_index=0)
    for name, key, value in (("by_name", _F.TYPE_STRING, _F.TYPE_INT64), ("by_number", _F.TYPE_INT32, _F.TYPE_STRING)):
        entry = message.nested_type.add(name="".join(part.title() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=key, label=_F.LABEL_OPTIONAL)
        entry.field.add(name="value", number=2, type=value, label=_F.LABEL_OPTIONAL)
        add(name, _F.TYPE_MESSAGE, type_name=f".kinds.Every.{entry.name}", label=_F.LABEL_REPEATED)
    message.oneof_decl.add(name="_perhaps")
    add("perhaps", _F.TYPE_INT32, oneof_index=1, proto3_optional=True)
    return file


_POOL = descriptor_pool.Default()
_POOL.Add(_file()) if hasattr(_POOL, "Add") else _POOL.AddSerializedFile(_file().SerializeToString())
Every: Any = GetMessageClass(_POOL.FindMessageTypeByName("kinds.Every"))
