"""The policy names its table exactly once per statement and takes no other text."""

from __future__ import annotations

import pytest

from mesh.db.tenancy import tenant_table


def test_table_is_enabled_forced_and_has_one_policy_for_reading_and_writing() -> None:
    sql = tenant_table("engine.things")
    rule = "(tenant_id = current_setting('app.tenant_id', true) or current_setting('app.rls_bypass', true) = 'on')"
    assert sql.splitlines() == [
        "alter table engine.things enable row level security;",
        "alter table engine.things force row level security;",
        f"create policy tenant_isolation on engine.things using {rule} with check {rule};",
    ]


@pytest.mark.parametrize("table", ["", "a.b.c", "things; drop table x", '"Things"', "Things"])
def test_name_that_is_not_plain_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match="plain table name"):
        tenant_table(table)
