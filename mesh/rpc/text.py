"""The rule about text that PostgreSQL cannot store: no NUL character in any string field, map key or map value.

Everything else that a string can hold in proto3 is valid UTF-8, which the decoder has checked by then. Byte fields
may hold anything. The walk visits fields that are set and follows a plan made once per message type, so that numbers,
vectors and bytes are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

_NUL = "\x00"
_MOST_REPORTED = 20

_Step: TypeAlias = Callable[[Any, str], Iterator[str]]
"""Yields the paths of bad texts in one value, given the value and its path."""


class TextRule:
    """Finds the string fields of a message that hold a NUL character."""

    def __init__(self) -> None:
        self._plans: dict[str, Mapping[int, _Step]] = {}

    def broken_fields(self, message: Message) -> list[str]:
        """Return the paths of bad fields, such as `facts[2].value` or `labels["a"]`; at most 20."""
        return list(islice(self._fields(message, ""), _MOST_REPORTED))

    def _fields(self, message: Message, prefix: str) -> Iterator[str]:
        plan = self._plan(cast("Descriptor", message.DESCRIPTOR))
        for field, value in message.ListFields():
            step = plan.get(field.number)
            if step is not None:
                yield from step(value, prefix + field.name)

    def _plan(self, descriptor: Descriptor) -> Mapping[int, _Step]:
        plan = self._plans.get(descriptor.full_name)
        if plan is None:
            steps = {field.number: self._step(field) for field in descriptor.fields}
            plan = {number: step for number, step in steps.items() if step is not None}
            self._plans[descriptor.full_name] = plan
        return plan

    def _step(self, field: FieldDescriptor) -> _Step | None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return self._map_step(field.message_type)
        one = self._value_step(field)
        return _each(one) if one is not None and field.is_repeated else one

    def _value_step(self, field: FieldDescriptor) -> _Step | None:
        if field.type == FieldDescriptor.TYPE_STRING:
            return _text
        if field.message_type is not None and _reaches_text(field.message_type):
            return self._message
        return None

    def _map_step(self, entry: Descriptor) -> _Step | None:
        key_is_text = entry.fields_by_name["key"].type == FieldDescriptor.TYPE_STRING
        value_step = self._value_step(entry.fields_by_name["value"])
        return _map(key_is_text, value_step) if key_is_text or value_step is not None else None

    def _message(self, message: Message, path: str) -> Iterator[str]:
        return self._fields(message, path + ".")


def _text(value: str, path: str) -> Iterator[str]:
    if _NUL in value:
        yield path


def _each(step: _Step) -> _Step:
    def run(values: Iterable[Any], path: str) -> Iterator[str]:
        for index, value in enumerate(values):
            yield from step(value, f"{path}[{index}]")

    return run


def _map(key_is_text: bool, value_step: _Step | None) -> _Step:
    def run(values: Mapping[Any, Any], path: str) -> Iterator[str]:
        for key, value in values.items():
            if key_is_text and _NUL in key:
                yield f"{path}[key]"
            elif value_step is not None:
                yield from value_step(value, f'{path}["{key}"]' if key_is_text else f"{path}[{key}]")

    return run


def _reaches_text(start: Descriptor) -> bool:
    """Tell whether a message can hold a string at any depth; messages may contain themselves."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        descriptor = waiting.pop()
        if descriptor.full_name in seen:
            continue
        seen.add(descriptor.full_name)
        if any(field.type == FieldDescriptor.TYPE_STRING for field in descriptor.fields):
            return True
        waiting.extend(field.message_type for field in descriptor.fields if field.message_type is not None)
    return False
