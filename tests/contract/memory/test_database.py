"""What PostgreSQL itself guarantees about memory's tables, and the plans that its queries get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector

from memory.domain.fusion import WEIGHTS
from memory.domain.retrieval import EXACT_ROWS, ChunkScope, Question, Ranking
from memory.domain.vector import StoredVector
from memory.repository import search
from memory.schema import SCHEMA
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
from mesh.testing.postgres import Cluster, MeshDatabase
from tests.contract.memory.hashing_embedder import _vector
from tests.contract.memory.memory_under_test import new_uuid

TENANT = "acme"
WORDS = [f"word{n}" for n in range(400)]

FILL_DIALOG = "insert into memory.dialogs (tenant_id, user_id, dialog_key, chunk_count) values (%s, %s, 'd', %s)"
FILL = """
insert into memory.chunks (tenant_id, id, user_id, dialog_key, content_hash, source, source_id, session, ordinal, text,
                           lex, lex_length, embedding, space_id)
select %(tenant)s, gen_random_uuid(), %(user)s::uuid, 'd', sha256((n.text || n.ordinal)::bytea), 'conversation',
       'm' || n.ordinal, 's' || n.ordinal / 20, n.ordinal, n.text,
       array_to_tsvector(string_to_array(n.text, ' ')), 3, n.embedding, 1
from unnest(%(texts)s::text[], %(embeddings)s::halfvec[]) with ordinality as n (text, embedding, ordinal)
"""

BLOCKS = """
insert into memory.blocks (tenant_id, user_id, dialog_key, block, lex)
select c.tenant_id, c.user_id, c.dialog_key, c.ordinal / 32, array_to_tsvector(array_agg(distinct w))
from memory.chunks c, unnest(tsvector_to_array(c.lex)) w where c.user_id = %s group by 1, 2, 3, 4
"""


def fill(connection: psycopg.Connection[Any], user: str, texts: list[str]) -> None:
    connection.execute(FILL_DIALOG, (TENANT, user, len(texts)))
    vectors = [HalfVector(_vector(text)) for text in texts]
    literals = "{" + ",".join(f'"{vector.to_text()}"' for vector in vectors) + "}"
    connection.execute(FILL, {"tenant": TENANT, "user": user, "texts": texts, "embeddings": literals})
    connection.execute(BLOCKS, (user,))


@pytest.fixture(scope="module")
def crowd(postgres_cluster: Cluster) -> Iterator[tuple[MeshDatabase, str, str]]:
    """A database with one user who has many chunks and many users who have few; and the two kinds' ids."""
    database = postgres_cluster.clone([SCHEMA])
    random = np.random.default_rng(7)
    big, small = new_uuid(), new_uuid()
    with psycopg.connect(database.admin_url, autocommit=True) as connection:
        fill(connection, big, [" ".join(random.choice(WORDS, 3)) for _ in range(1500)] + ["needle word1 word2"])
        for user in (small, *(new_uuid() for _ in range(40))):
            fill(connection, user, [" ".join(random.choice(WORDS, 3)) for _ in range(20)])
        connection.execute("vacuum analyze memory.chunks")
    yield database, big, small
    postgres_cluster.drop(database)


def question(text: str) -> Question:
    return Question(text.split(), StoredVector(_vector(text), 1), "^$")


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


async def test_g7_a_small_scope_is_scanned_exactly_through_its_own_index(crowd: tuple[MeshDatabase, str, str]) -> None:
    database, _, small = crowd
    plan = await explained(database, small, "word1 word2", scope_size=20)
    used = {node.get("Index Name") for node in nodes(plan)} - {None}
    assert used & {"chunks_in_order", "chunks_one_copy"}
    assert "chunks_by_vector" not in used
    assert not [node for node in nodes(plan) if node["Node Type"] == "Seq Scan" and node["Relation Name"] == "chunks"]


async def test_g7_a_huge_scope_gets_its_candidates_from_the_indexes(crowd: tuple[MeshDatabase, str, str]) -> None:
    database, big, _ = crowd
    plan = await explained(database, big, "needle word2", scope_size=EXACT_ROWS + 1, query="candidates")
    used = {node.get("Index Name") for node in nodes(plan)}
    assert "chunks_by_vector" in used
    assert "chunks_in_order" in used


@pytest.mark.parametrize("text", ["needle", "needle word1", "word5 word6 word7", "word1"])
async def test_candidates_hold_what_the_exact_ranking_finds(crowd: tuple[MeshDatabase, str, str], text: str) -> None:
    database, big, _ = crowd
    db = Database(DatabaseSettings(database.urls["memory"], pool_max=1), application_name="test")
    found = []
    for scope_size in (1501, EXACT_ROWS + 1):
        async with db.transaction(TENANT) as tx:
            ranking = Ranking(10, with_facts=True, with_chunks=True, weights=WEIGHTS, scope_size=scope_size)
            found.append([hit.item for hit in await search.recall(tx, ChunkScope(big), question(text), ranking)])
    await db.close()
    exact, narrowed = ([item.id for item in items] for items in found)
    assert exact[0] in narrowed[:3]
    assert len(set(exact) & set(narrowed)) >= 7


async def test_g6_every_table_of_a_tenant_is_under_forced_row_security(memory_database: MeshDatabase) -> None:
    with psycopg.connect(memory_database.admin_url) as connection:
        rows = connection.execute(
            """
            select c.relname, c.relrowsecurity and c.relforcerowsecurity
            from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
            where c.relnamespace = 'memory'::regnamespace and c.relkind in ('r', 'p')
            """
        ).fetchall()
    assert {name for name, _ in rows} == {"facts", "chunks", "dialogs", "blocks", "learned_turns", "idempotency"}
    assert all(forced for _, forced in rows)


async def test_without_a_tenant_the_database_shows_nothing(crowd: tuple[MeshDatabase, str, str]) -> None:
    database, _, _ = crowd
    with psycopg.connect(database.urls["memory"]) as connection:
        assert connection.execute("select count(*) from memory.chunks").fetchone() == (0,)
        connection.execute("select set_config('app.tenant_id', 'globex', true)")
        assert connection.execute("select count(*) from memory.chunks").fetchone() == (0,)
        connection.execute("select set_config('app.tenant_id', %s, true)", (TENANT,))
        assert connection.execute("select count(*) > 0 from memory.chunks").fetchone() == (True,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(FILL_DIALOG, ("globex", new_uuid(), 0))


def test_s6_match_chunks_boosts_filters_and_clamps(postgres_cluster: Cluster) -> None:
    database = postgres_cluster.clone([SCHEMA])
    user, other = new_uuid(), new_uuid()
    match = """
        select source, text, boost, weighted_score - match_score - boost from memory.match_chunks(
            match_tenant_id => 'acme', match_user_id => %(user)s, query_embedding => %(embedding)s::halfvec,
            match_space_id => 1::smallint, match_count => %(count)s, match_dialog_key => 'd',
            match_avatar_id => %(avatar)s, match_compose_mode => %(mode)s)
    """
    ask = {"user": user, "embedding": HalfVector(_vector("tea")).to_text(), "count": None, "avatar": None, "mode": None}
    with psycopg.connect(database.admin_url, autocommit=True) as connection:
        fill(connection, user, [f"tea {n}" for n in range(60)])
        fill(connection, other, ["tea"])
        for ordinal, source in enumerate(("note", "profile", "photo", "summary"), 1):
            connection.execute(
                "update memory.chunks set source = %s, text = 'tea' where user_id = %s and ordinal = %s",
                (source, user, ordinal),
            )
        connection.execute(
            "update memory.chunks set embedding = %s::halfvec where user_id = %s", (ask["embedding"], user)
        )
        rows = connection.execute(match, ask).fetchall()
        assert [(row[0], row[2]) for row in rows[:3]] == [("note", 0.18), ("profile", 0.08), ("photo", 0.05)]
        assert {row[2] for row in rows[3:]} == {0.0}
        assert max(abs(row[3]) for row in rows) < 1e-9
        sizes = [len(connection.execute(match, {**ask, "count": count}).fetchall()) for count in (None, -5, 0, 3, 999)]
        assert sizes == [12, 1, 1, 3, 50]

        avatar = new_uuid()
        connection.execute("update memory.chunks set avatar_id = gen_random_uuid() where ordinal = 1")
        connection.execute("update memory.chunks set avatar_id = %s where ordinal = 2", (avatar,))
        found = connection.execute(match, {**ask, "avatar": avatar, "count": 50}).fetchall()
        assert "note" not in {row[0] for row in found}
        assert "profile" in {row[0] for row in found}
        connection.execute("update memory.chunks set compose_mode = 'reply' where ordinal > 3")
        assert len(connection.execute(match, {**ask, "mode": "other", "count": 50}).fetchall()) == 3
        assert len(connection.execute(match, {**ask, "mode": "reply", "count": 50}).fetchall()) == 50
    postgres_cluster.drop(database)


async def explained(
    database: MeshDatabase, user: str, text: str, *, scope_size: int, query: str = "recall"
) -> dict[str, Any]:
    """Return the plan of a statement that a recall runs, as the runtime role gets it."""
    seen: list[tuple[str, dict[str, Any]]] = []
    db = Database(DatabaseSettings(database.urls["memory"], pool_max=1), application_name="test")
    async with db.transaction(TENANT) as tx:
        run = tx._run

        async def spy(statement: Any, params: Any, *rest: Any) -> Any:
            seen.append((statement, params))
            return await run(statement, params, *rest)

        tx._run = spy  # type: ignore[method-assign]
        ranking = Ranking(10, with_facts=True, with_chunks=True, weights=WEIGHTS, scope_size=scope_size)
        await search.recall(tx, ChunkScope(user), question(text), ranking)
        statement, params = next(entry for entry in seen if entry[0].name == query)
        with_plan = type(statement)("explain", f"explain (format json) {statement.text}", "")
        plan = await tx.value(with_plan, params)
    await db.close()
    return (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
