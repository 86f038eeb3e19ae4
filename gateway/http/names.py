"""Names as JSON has them: fields in lowerCamelCase, enum values without the prefix of their type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

_UNDERSCORE = re.compile(r"_([a-z0-9])")
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


def json_path(path: str) -> str:
    """Return a path of proto fields with JSON's names: `messages[3].source_id` becomes `messages[3].sourceId`.

    Text in quotes or with other characters, such as a header's name or a map's key, stays as it is.
    """
    return path if any(mark in path for mark in "\"'-") else _UNDERSCORE.sub(lambda found: found[1].upper(), path)


def proto_path(path: str) -> str:
    """Return a path of JSON names with proto's: `displayName` becomes `display_name`."""
    return _HUMP.sub(lambda found: f"_{found[1]}", path).lower()


@cache
def fields_by_any_name(descriptor: Descriptor) -> Mapping[str, FieldDescriptor]:
    """Return the fields of a message under their JSON names and their proto names."""
    by_json = {field.json_name: field for field in descriptor.fields}
    return {**{field.name: field for field in descriptor.fields}, **by_json}


def descriptor_of(message: Message) -> Descriptor:
    """Return the type of a message; the stubs name two classes for it."""
    return cast("Descriptor", message.DESCRIPTOR)


def fields_along(descriptor: Descriptor, path: str) -> list[FieldDescriptor] | None:
    """Return the fields that a dotted path of any names goes through, or None when it names no field.

    A path goes into messages of our own only, not into lists or well-known types.
    """
    found: list[FieldDescriptor] = []
    here: Descriptor | None = descriptor
    for name in path.split("."):
        field = None if here is None else fields_by_any_name(here).get(name)
        if field is None:
            return None
        found.append(field)
        here = None if field.is_repeated or is_well_known(field.message_type) else field.message_type
    return found


def is_well_known(descriptor: Descriptor | None) -> bool:
    """Tell whether a message type is one of protobuf's own, which have a JSON form of their own."""
    return descriptor is not None and descriptor.full_name.startswith("google.protobuf.")


@cache
def enum_names(enum: EnumDescriptor) -> Mapping[int, str]:
    """Return the JSON names of an enum's values: `ACTIVE` for `SESSION_STATUS_ACTIVE` of `SessionStatus`."""
    return {value.number: _short(enum, value.name) for value in reversed(enum.values)}


@cache
def enum_numbers(enum: EnumDescriptor) -> Mapping[str, int]:
    """Return the numbers of an enum's values under their short and their full names."""
    short = {_short(enum, value.name): value.number for value in enum.values}
    return {**short, **{value.name: value.number for value in enum.values}}


def _short(enum: EnumDescriptor, name: str) -> str:
    prefix = f"{_HUMP.sub(lambda found: f'_{found[1]}', enum.name).upper()}_"
    return name.removeprefix(prefix)
