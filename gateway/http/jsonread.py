"""Values of JSON, query strings and path variables into messages, with the exact field in every refusal.

Nothing is skipped: a field that the message does not have is refused by name, so that a typing mistake is never taken
for a default. Fields are accepted under their JSON and their proto names, enum values with and without the prefix of
their type, numbers also as text. Rules of content (lengths, formats) are the contract's and are checked by the server.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from gateway.http.names import (
    descriptor_of,
    enum_names,
    enum_numbers,
    fields_along,
    fields_by_any_name,
    is_well_known,
    proto_path,
)
from mesh.kernel.errors import InvalidArgument, invalid_field

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_FLOATS = frozenset({FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE})
_LARGEST_FLOAT = 3.4028235677973366e38
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
_MASK = re.compile(r"\*|[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
_FORMS = {
    "google.protobuf.Timestamp": "must be an RFC 3339 time, such as 2026-12-01T09:30:00Z",
    "google.protobuf.Duration": "must be seconds with an s, such as 1.5s",
}


def merge(message: Message, value: Any, path: str = "") -> None:
    """Fill a message from the value of its JSON.

    Args:
        message: what to fill.
        value: as `gateway.http.jsontext.parse_json` gives it.
        path: where the message stands in the request, for errors; empty for the request itself.

    Raises:
        InvalidArgument: INVALID_REQUEST with the field.
    """
    if not isinstance(value, dict):
        raise invalid_field(path, "must be an object", "TYPE")
    known = fields_by_any_name(message.DESCRIPTOR)
    seen: set[str] = set()
    for name, item in value.items():
        where = f"{path}.{name}" if path else name
        field = known.get(name)
        if field is None:
            raise unknown_field(where, message)
        if field.name in seen:
            raise invalid_field(where, "is given twice", "DUPLICATE")
        seen.add(field.name)
        if item is not None or _takes_null(field):
            _merge_field(message, field, item, where)


def set_texts(message: Message, path: str, texts: Sequence[str], shown: str = "") -> None:
    """Fill one field, which may be nested, from the texts of a query parameter or path variable.

    Args:
        message: the request.
        path: field names with dots between, JSON's or proto's.
        texts: the values; more than one only for a repeated field.
        shown: the name to use in errors; the path itself when empty.

    Raises:
        InvalidArgument: INVALID_REQUEST with the field: there is no such field, or a value does not fit.
    """
    where = shown or path
    fields = fields_along(descriptor_of(message), path)
    if fields is None:
        raise unknown_field(where, message)
    *parents, field = fields
    if field.message_type is not None and not is_well_known(field.message_type):
        raise unknown_field(where, message)
    if not field.is_repeated and len(texts) > 1:
        raise invalid_field(where, "is given twice", "DUPLICATE")
    for parent in parents:
        message = getattr(message, parent.name)
    values = [_from_text(field, text) for text in texts]
    _merge_field(message, field, values if field.is_repeated else values[0], where)


def unknown_field(where: str, message: Message) -> InvalidArgument:
    """Return the error for a field that a message does not have."""
    return invalid_field(where, f"is no field of {message.DESCRIPTOR.name}", "UNKNOWN_FIELD")


def _from_text(field: FieldDescriptor, text: str) -> Any:
    if field.type == FieldDescriptor.TYPE_BOOL:
        return {"true": True, "false": False}.get(text, text)
    if field.enum_type is not None and _INTEGER.fullmatch(text):
        return int(text)
    return text


def _merge_field(message: Any, field: FieldDescriptor, item: Any, where: str) -> None:
    if field.containing_oneof is not None and message.WhichOneof(field.containing_oneof.name) is not None:
        raise invalid_field(where, f"cannot stand beside another field of {field.containing_oneof.name}", "ONEOF")
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        _merge_map(getattr(message, field.name), field.message_type, item, where)
    elif field.is_repeated:
        _merge_list(getattr(message, field.name), field, item, where)
    elif field.message_type is not None:
        _merge_message(getattr(message, field.name), item, where)
    else:
        setattr(message, field.name, _scalar(field, item, where))


def _merge_list(target: Any, field: FieldDescriptor, item: Any, where: str) -> None:
    if not isinstance(item, list):
        raise invalid_field(where, "must be a list", "TYPE")
    for index, one in enumerate(item):
        here = f"{where}[{index}]"
        if field.message_type is not None:
            _merge_message(target.add(), one, here)
        else:
            target.append(_scalar(field, one, here))


def _merge_map(target: Any, entry: Descriptor, item: Any, where: str) -> None:
    if not isinstance(item, dict):
        raise invalid_field(where, "must be an object", "TYPE")
    key_field, value_field = entry.fields_by_name["key"], entry.fields_by_name["value"]
    for name, one in item.items():
        here = f'{where}["{name}"]'
        key = _scalar(key_field, _from_text(key_field, name), here)
        if value_field.message_type is not None:
            _merge_message(target[key], one, here)
        else:
            target[key] = _scalar(value_field, one, here)


def _merge_message(target: Message, item: Any, where: str) -> None:
    name = target.DESCRIPTOR.full_name
    target.SetInParent()
    if name == "google.protobuf.FieldMask":
        _merge_mask(target, item, where)
    elif is_well_known(descriptor_of(target)):
        try:
            json_format.ParseDict(item, target, max_recursion_depth=64)
        except (json_format.ParseError, ValueError, TypeError, AttributeError, OverflowError):
            raise invalid_field(where, _FORMS.get(name, "has the wrong form"), "TYPE") from None
    else:
        merge(target, item, where)


def _merge_mask(target: Any, item: Any, where: str) -> None:
    if not isinstance(item, str):
        raise invalid_field(where, "must be field names with commas between", "TYPE")
    for path in filter(None, item.split(",")):
        if not _MASK.fullmatch(path):
            raise invalid_field(where, "must be field names with commas between", "TYPE")
        target.paths.append(proto_path(path))


def _scalar(field: FieldDescriptor, item: Any, where: str) -> Any:
    if field.enum_type is not None:
        return _enum(field, item, where)
    if field.type == FieldDescriptor.TYPE_BOOL:
        if not isinstance(item, bool):
            raise invalid_field(where, "must be true or false", "TYPE")
        return item
    if field.cpp_type in _INTEGERS:
        return _integer(field, item, where)
    if field.cpp_type in _FLOATS:
        return _float(field, item, where)
    if not isinstance(item, str):
        raise invalid_field(where, "must be a text", "TYPE")
    return _bytes(item, where) if field.type == FieldDescriptor.TYPE_BYTES else item


def _enum(field: FieldDescriptor, item: Any, where: str) -> int:
    numbers = enum_numbers(field.enum_type)
    if isinstance(item, str) and item in numbers:
        return numbers[item]
    if isinstance(item, int) and not isinstance(item, bool) and -(2**31) <= item < 2**31:
        return item
    names = ", ".join(name for number, name in sorted(enum_names(field.enum_type).items()) if number)
    raise invalid_field(where, f"must be one of: {names}", "ENUM")


def _integer(field: FieldDescriptor, item: Any, where: str) -> int:
    if (isinstance(item, str) and _INTEGER.fullmatch(item)) or (isinstance(item, float) and item.is_integer()):
        item = int(item)
    if not isinstance(item, int) or isinstance(item, bool):
        raise invalid_field(where, "must be a whole number", "TYPE")
    least, most = _INTEGERS[field.cpp_type]
    if not least <= item <= most:
        raise invalid_field(where, f"must be between {least} and {most}", "RANGE")
    return item


def _float(field: FieldDescriptor, item: Any, where: str) -> float:
    if isinstance(item, str) and item in _NOT_FINITE:
        return _NOT_FINITE[item]
    if isinstance(item, str) and _NUMBER.fullmatch(item):
        item = float(item)
    if not isinstance(item, int | float) or isinstance(item, bool):
        raise invalid_field(where, "must be a number", "TYPE")
    most = _LARGEST_FLOAT if field.cpp_type == FieldDescriptor.CPPTYPE_FLOAT else math.inf
    if not abs(item) < most:
        raise invalid_field(where, "is too large", "RANGE")
    return float(item)


def _bytes(text: str, where: str) -> bytes:
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid_field(where, "must be base64", "TYPE") from None


def _takes_null(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name == "google.protobuf.Value"
