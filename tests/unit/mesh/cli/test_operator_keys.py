"""Keys made by the operator act for the user that the gateway knows without keys."""

from __future__ import annotations

import pytest

from gateway.usecase.authenticate import DEFAULT_USER
from mesh.cli.operator_keys import LOCAL_USER, operator_keys
from mesh.cli.problems import ExitCode, Problem


def test_the_local_user_is_the_gateways() -> None:
    assert LOCAL_USER == DEFAULT_USER


@pytest.mark.parametrize("tenant", ["a/b", "", "..", "a" * 129, "a b"])
def test_a_name_that_no_tenant_can_have_is_refused(tenant: str) -> None:
    with pytest.raises(Problem, match="is no tenant") as caught:
        operator_keys(tenant)
    assert caught.value.exit_code == ExitCode.USAGE
