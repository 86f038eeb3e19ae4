"""Path templates of google.api.http."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.path import compile_template
from mesh.kernel.errors import InvalidArgument

SEGMENT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("template", "path", "values"),
    [
        ("/v1/sessions", "/v1/sessions", {}),
        ("/v1/sessions/{id}", "/v1/sessions/a-b", {"id": "a-b"}),
        ("/v1/sessions/{session.id}", "/v1/sessions/7", {"session.id": "7"}),
        ("/v1/sessions/{id}:converse", "/v1/sessions/7:converse", {"id": "7"}),
        ("/v1/memory:recall", "/v1/memory:recall", {}),
        ("/v1/a/{x}/b/{y}", "/v1/a/1/b/2", {"x": "1", "y": "2"}),
        ("/v1/{name=shelves/*/books/*}", "/v1/shelves/1/books/2", {"name": "shelves/1/books/2"}),
        ("/v1/{rest=**}", "/v1/a/b/c", {"rest": "a/b/c"}),
        ("/v1/*/x", "/v1/anything/x", {}),
        ("/v1/sessions/{id}", "/v1/sessions/a%2Fb%3Ac", {"id": "a/b:c"}),
        ("/v1/sessions/{id}", "/v1/sessions/%E2%82%AC", {"id": "€"}),
    ],
)
def test_a_path_is_matched_and_its_variables_are_decoded(template: str, path: str, values: dict[str, str]) -> None:
    compiled = compile_template(template)
    found = compiled.match(path)
    assert found is not None
    assert dict(compiled.decode(found)) == values


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("/v1/sessions", "/v1/sessions/"),
        ("/v1/sessions", "/v1/sessionsx"),
        ("/v1/sessions/{id}", "/v1/sessions/"),
        ("/v1/sessions/{id}", "/v1/sessions/a/b"),
        ("/v1/sessions/{id}:converse", "/v1/sessions/7"),
        ("/v1/sessions/{id}:converse", "/v1/sessions/7:conversex"),
        ("/v1/memory:recall", "/v1/memoryXrecall"),
        ("/v1/a.b", "/v1/aXb"),
    ],
)
def test_another_path_is_not_matched(template: str, path: str) -> None:
    assert compile_template(template).match(path) is None


@given(SEGMENT)
def test_any_encoded_text_is_one_segment_and_comes_back(text: str) -> None:
    compiled = compile_template("/v1/things/{id}:act")
    found = compiled.match(f"/v1/things/{quote(text, safe='')}:act")
    assert found is not None
    assert dict(compiled.decode(found)) == {"id": text}


@pytest.mark.parametrize("bad", ["v1/x", "/v1/{", "/v1/{A}", "/v1/}x", ""])
def test_what_is_no_template_stops_the_start(bad: str) -> None:
    with pytest.raises(ValueError):
        compile_template(bad)


def test_bytes_that_are_not_utf_8_are_refused_with_the_variable() -> None:
    compiled = compile_template("/v1/sessions/{session.id}")
    found = compiled.match("/v1/sessions/%FF")
    assert found is not None
    with pytest.raises(InvalidArgument) as refused:
        list(compiled.decode(found))
    assert refused.value.details.violations[0].field == "session.id"
