"""Query files say what they hold, and a mistake in one stops the program when it is read."""

from __future__ import annotations

import pytest

from mesh.db.queries import load, parse, plain_schema

GOOD = """
-- A comment of the file.
-- name: insert_thing
-- Stores a thing,
-- and nothing else.
insert into {schema}.things (a, b)
values (%(a)s, %(b)s);

-- name: count_things
-- Counts them, 100 %% of them.
select count(*) from {schema}.things where note like 'x%%' -- to the end
"""


def test_file_gives_queries_by_name() -> None:
    queries = parse(GOOD, "good.sql")
    query = queries.get("insert_thing")
    assert query.text == "insert into {schema}.things (a, b)\nvalues (%(a)s, %(b)s)"
    assert query.description == "Stores a thing, and nothing else."
    assert query.encoded == query.text.encode()
    assert set(queries.by_name) == {"insert_thing", "count_things"}


def test_unknown_name_is_refused() -> None:
    with pytest.raises(LookupError, match=r"good\.sql has no query named 'nothing'"):
        parse(GOOD, "good.sql").get("nothing")


def test_schema_is_filled_in_everywhere() -> None:
    queries = parse(GOOD, "good.sql").in_schema("engine")
    assert "insert into engine.things" in queries.get("insert_thing").text
    assert b"from engine.things" in queries.get("count_things").encoded


@pytest.mark.parametrize("schema", ["Engine", "engine; drop", 'a"b', "", "1a", "a" * 64])
def test_schema_that_would_need_quotes_is_refused(schema: str) -> None:
    with pytest.raises(ValueError, match="plain schema name"):
        plain_schema(schema)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("select 1", "holds no queries"),
        ("-- name: a\nselect 1", "no description"),
        ("-- name: a\n-- Does it.\n", "no statement"),
        ("-- name: Bad-Name\n-- Does it.\nselect 1", "not snake_case"),
        ("-- name: a\n-- Does it.\nselect 1\n-- name: a\n-- Again.\nselect 2", "two queries"),
        ("-- name: a\n-- Does it.\nselect %s", "neither a named parameter"),
        ("-- name: a\n-- Does it.\nselect '5%'", "neither a named parameter"),
    ],
)
def test_broken_file_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse(text, "bad.sql")


@pytest.mark.parametrize("where", ["mesh.db", "mesh.db.transaction"])
def test_file_is_found_beside_a_package_or_a_module(where: str) -> None:
    assert load(where, "transaction.sql").get("begin").text == "begin"
