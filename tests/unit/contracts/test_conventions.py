"""What every contract keeps to, checked on the descriptors: routes, scopes, pages, idempotent writes, masks."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from google.api import annotations_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

from buf.validate import validate_pb2
from mnemesh.common.v1 import authorization_pb2

GEN = Path(__file__).parents[3] / "gen"
READS = ("Get", "List", "Search", "Recall")
SCOPES = {"sessions.read", "sessions.write", "chat", "memory.read", "memory.write", "keys.admin", "internal"}


def methods() -> list[MethodDescriptor]:
    found = []
    for path in sorted((GEN / "mnemesh").rglob("*_service_pb2.py")):
        module = import_module(path.relative_to(GEN).with_suffix("").as_posix().replace("/", "."))
        for service in module.DESCRIPTOR.services_by_name.values():
            found.extend(service.methods)
    return found


METHODS = methods()


def scope(method: MethodDescriptor) -> str:
    return method.GetOptions().Extensions[authorization_pb2.scope]


def public() -> list[MethodDescriptor]:
    return [method for method in METHODS if scope(method) != "internal"]


def names(methods: list[MethodDescriptor]) -> list[str]:
    return [method.full_name for method in methods]


def input_fields(message: Descriptor, seen: frozenset[str] = frozenset()) -> Iterator[FieldDescriptor]:
    for field in message.fields:
        yield field
        inner = field.message_type
        if inner is not None and inner.full_name.startswith("mnemesh.") and inner.full_name not in seen:
            yield from input_fields(inner, seen | {inner.full_name})


@pytest.mark.parametrize("method", METHODS, ids=names(METHODS))
def test_every_method_declares_a_scope_that_exists(method: MethodDescriptor) -> None:
    assert scope(method) in SCOPES


@pytest.mark.parametrize("method", public(), ids=names(public()))
def test_every_public_method_has_a_route_and_no_request_can_name_a_tenant(method: MethodDescriptor) -> None:
    rule = method.GetOptions().Extensions[annotations_pb2.http]
    if method.containing_service.name != "ConversationService" or method.name != "Converse":
        assert rule.WhichOneof("pattern"), "a public method without a route"
    assert not [field.name for field in input_fields(method.input_type) if "tenant" in field.name]


@pytest.mark.parametrize("method", public(), ids=names(public()))
def test_reads_change_nothing_and_writes_can_be_retried(method: MethodDescriptor) -> None:
    fields = method.input_type.fields_by_name
    if method.name.startswith(READS):
        assert "request_id" not in fields
        assert scope(method).endswith(".read") or scope(method) == "keys.admin"
    else:
        assert "request_id" in fields
        rule = fields["request_id"].GetOptions().Extensions[validate_pb2.field]
        assert rule.string.uuid
        assert rule.ignore == validate_pb2.IGNORE_IF_ZERO_VALUE


LISTS = [method for method in METHODS if method.name.startswith("List")]


@pytest.mark.parametrize("method", LISTS, ids=names(LISTS))
def test_lists_have_pages(method: MethodDescriptor) -> None:
    request, response = method.input_type.fields_by_name, method.output_type.fields_by_name
    assert request["page_size"].type == FieldDescriptor.TYPE_INT32
    assert request["page_size"].GetOptions().Extensions[validate_pb2.field].int32.gte == 0
    assert request["page_token"].type == response["next_page_token"].type == FieldDescriptor.TYPE_STRING
    assert [field.name for field in method.output_type.fields if field.is_repeated]


UPDATES = [method for method in METHODS if method.name.startswith("Update")]


@pytest.mark.parametrize("method", UPDATES, ids=names(UPDATES))
def test_updates_take_a_mask_and_the_resource_has_an_etag(method: MethodDescriptor) -> None:
    fields = method.input_type.fields_by_name
    resource = fields[method.name.removeprefix("Update").lower()].message_type
    assert fields["update_mask"].message_type.full_name == "google.protobuf.FieldMask"
    assert "etag" in resource.fields_by_name


@pytest.mark.parametrize("method", METHODS, ids=names(METHODS))
def test_every_text_that_comes_in_is_bounded(method: MethodDescriptor) -> None:
    """An id, a pattern with a bound, or a longest length: no text may be as long as the message."""
    resources = {"Session"}  # its output fields are ignored on input; those that are read are checked by its own rules
    for field in input_fields(method.input_type):
        if field.type != FieldDescriptor.TYPE_STRING or field.containing_type.name in resources:
            continue
        rule = field.GetOptions().Extensions[validate_pb2.field]
        text = rule.repeated.items.string if field.is_repeated else rule.string
        assert text.uuid or text.max_len or getattr(text, "in"), f"{field.full_name} has no bound"
