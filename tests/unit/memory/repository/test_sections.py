"""Statements with parts that are there or not, and what the real ones look like."""

from __future__ import annotations

import itertools
import re

import pytest

from memory.repository import search
from memory.repository.sections import rendered
from mesh.db.queries import Query


def text(template: str, *sections: str, terms: int = 1) -> str:
    return " ".join(rendered(Query("q", template), frozenset(sections), terms).text.split())


def test_sections_are_kept_or_dropped() -> None:
    template = "select /*[a]*/ 1, /*[/a]*/ /*[!a]*/ 2, /*[/!a]*/ 3"
    assert text(template, "a") == "select 1, 3"
    assert text(template) == "select 2, 3"


def test_sections_nest_and_repeat() -> None:
    template = "/*[a]*/ x /*[b]*/ y /*[/b]*/ /*[/a]*/ /*[a]*/ z /*[/a]*/"
    assert text(template, "a", "b") == "x y z"
    assert text(template, "a") == "x z"
    assert text(template, "b") == ""


def test_each_term_gets_its_number() -> None:
    assert text("/*[each +]*/ m_n * w_n /*[/each]*/", terms=3) == "m1 * w1 + m2 * w2 + m3 * w3"
    assert text("/*[each ,]*/ %(term_n)s /*[/each]*/", terms=2) == "%(term1)s , %(term2)s"


@pytest.mark.parametrize("query", [search._RECALL, search._CANDIDATES], ids=lambda query: query.name)
def test_every_statement_of_a_search_is_complete_and_scoped(query: Query) -> None:
    names = ("lexical", "vector", "facts", "chunks", "dialog", "avatar", "candidates", "weighed", "time")
    for chosen in itertools.product((False, True), repeat=len(names)):
        sections = frozenset(name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen)
        statement = rendered(query, sections, 4).text
        assert "/*[" not in statement
        assert "_n" not in re.sub(r"[a-z]_n[a-z]", "", statement)
        assert statement.count("tenant_id = %(tenant_id)s") >= 2
        assert statement.count("user_id = %(user_id)s") >= 2
        assert ("%(embedding)b" in statement) == ("vector" in sections)
