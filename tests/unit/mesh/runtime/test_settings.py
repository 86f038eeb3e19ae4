"""Settings from an environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.rpc.settings import RpcSettings
from mesh.runtime.serve import DrainSettings
from mesh.runtime.settings import Secret, describe, load, names, setting
from mesh.telemetry.settings import TelemetrySettings


@dataclass(frozen=True)
class Pool:
    """Nested, declared without our helper, as packages below do."""

    size: int = field(default=10, metadata={"env": ("MNEMESH_POOL_MAX", "DB_POOL_MAX"), "doc": "Most connections."})
    wait: timedelta = field(
        default=timedelta(seconds=2), metadata={"env": "MNEMESH_POOL_WAIT_SECONDS", "doc": "Longest wait."}
    )

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError("must be at least 1")


@dataclass(frozen=True)
class Plain:
    """Nested, with nothing that the environment sets."""

    tuned: bool = True


@dataclass(frozen=True)
class App:
    """One of everything."""

    url: str = setting("MNEMESH_URL", "Where the database is.", secret=True)
    keys: tuple[str, ...] = setting("MNEMESH_KEYS", "Keys.", default=(), secret=True)
    mode: Literal["none", "api_key"] = setting("MNEMESH_MODE", "How callers are proven.", default="none")
    home: Path = field(
        default_factory=lambda: Path("/var/lib/mnemesh"), metadata={"env": "MNEMESH_HOME", "doc": "Where files are."}
    )
    ratio: float = setting("MNEMESH_RATIO", "A share.", default=0.5)
    strict: bool = setting("MNEMESH_STRICT", "Whether.", default=False)
    model: str | None = setting("MNEMESH_MODEL", "A model.", default=None)
    sizes: tuple[int, ...] = setting(
        "MNEMESH_SIZES", "Sizes.", default=(), parse=lambda text: tuple(int(part) for part in text.split("+"))
    )
    pool: Pool = field(default_factory=Pool)
    plain: Plain = field(default_factory=lambda: Plain(tuned=False))


def _load(known: tuple[str, ...] | None = None, **environ: str) -> App:
    return load(App, {"MNEMESH_URL": "postgresql://u:pw@h/db", **environ}, known=known)


def _problems(known: tuple[str, ...] | None = None, **environ: str) -> dict[str, str]:
    with pytest.raises(FailedPrecondition) as caught:
        _load(known, **environ)
    assert caught.value.reason is Reason.CONFIGURATION_INVALID
    for violation in caught.value.details.violations:
        assert violation.field in caught.value.message
        assert violation.description.rstrip(".") in caught.value.message
    return {violation.field: violation.description for violation in caught.value.details.violations}


def test_defaults_are_used_where_nothing_is_set() -> None:
    app = _load()
    assert (app.mode, app.home, app.ratio) == ("none", Path("/var/lib/mnemesh"), 0.5)
    assert (app.strict, app.model, app.keys) == (False, None, ())
    assert app.pool == Pool()
    assert app.plain == Plain(tuned=False)


@pytest.mark.parametrize(
    ("name", "text", "attribute", "value"),
    [
        ("MNEMESH_MODE", "api_key", "mode", "api_key"),
        ("MNEMESH_HOME", "/srv/x", "home", Path("/srv/x")),
        ("MNEMESH_RATIO", "1e-2", "ratio", 0.01),
        ("MNEMESH_STRICT", "TRUE", "strict", True),
        ("MNEMESH_STRICT", "1", "strict", True),
        ("MNEMESH_STRICT", "off", "strict", False),
        ("MNEMESH_MODEL", "small", "model", "small"),
        ("MNEMESH_KEYS", " a , b,", "keys", ("a", "b")),
        ("MNEMESH_SIZES", "1+2", "sizes", (1, 2)),
    ],
)
def test_texts_are_read_as_the_type_of_the_field(name: str, text: str, attribute: str, value: Any) -> None:
    assert getattr(_load(**{name: text}), attribute) == value


def test_nested_settings_are_read_from_the_same_environment() -> None:
    app = _load(MNEMESH_POOL_WAIT_SECONDS="0.25", MNEMESH_POOL_MAX="4")
    assert app.pool == Pool(4, timedelta(milliseconds=250))


def test_first_alternative_that_is_set_wins() -> None:
    assert _load(DB_POOL_MAX="7").pool.size == 7
    assert _load(DB_POOL_MAX="7", MNEMESH_POOL_MAX="4").pool.size == 4


def test_empty_variable_counts_as_not_set() -> None:
    assert _load(MNEMESH_RATIO="", MNEMESH_POOL_MAX="", DB_POOL_MAX="3").pool.size == 3
    assert "MNEMESH_URL" in _problems(MNEMESH_URL="")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("MNEMESH_RATIO", "half", "must be a number"),
        ("MNEMESH_RATIO", "nan", "must be a finite number"),
        ("MNEMESH_STRICT", "maybe", "must be true or false"),
        ("MNEMESH_MODE", "jwt", "must be one of: none, api_key"),
        ("MNEMESH_POOL_MAX", "2.5", "must be a whole number"),
        ("MNEMESH_POOL_WAIT_SECONDS", "soon", "must be a number of seconds"),
        ("MNEMESH_POOL_WAIT_SECONDS", "1e300", "must be a number of seconds"),
    ],
)
def test_bad_text_is_reported_with_its_variable(name: str, text: str, says: str) -> None:
    assert _problems(**{name: text}) == {name: says}


def test_bad_alternative_is_reported_under_the_name_that_was_used() -> None:
    assert _problems(DB_POOL_MAX="many") == {"DB_POOL_MAX": "must be a whole number"}


def test_all_problems_are_reported_together() -> None:
    problems = _problems(("MNEMESH_GATEWAY_*",), MNEMESH_URL="", MNEMESH_RATIO="x", DB_POOL_MAX="y", MNEMESH_MODEL_="z")
    assert set(problems) == {"MNEMESH_URL", "MNEMESH_RATIO", "DB_POOL_MAX", "MNEMESH_MODEL_"}
    assert problems["MNEMESH_URL"] == "must be set: Where the database is."


def test_rule_of_a_dataclass_is_reported_with_its_first_variable() -> None:
    assert _problems(MNEMESH_POOL_MAX="0") == {"MNEMESH_POOL_MAX": "must be at least 1"}


def test_values_are_never_repeated_in_errors() -> None:
    secret = "hunter2hunter2"
    with pytest.raises(FailedPrecondition) as caught:
        _load((), MNEMESH_RATIO=secret, MNEMESH_STRICT=secret, MNEMESH_MODE=secret, DB_POOL_MAX=secret, MNEMESH_=secret)
    assert secret not in str(caught.value) + repr(caught.value.details)


def test_unknown_names_are_errors_with_advice() -> None:
    problems = _problems((), MNEMESH_STRCIT="1", MNEMESH_ZZZZ="1")
    assert problems["MNEMESH_STRCIT"] == "is not a setting; did you mean MNEMESH_STRICT?"
    assert "docs/settings.md" in problems["MNEMESH_ZZZZ"]


def test_known_names_and_patterns_of_others_are_legal() -> None:
    _load(("MNEMESH_GATEWAY_*", "MNEMESH_OTHER"), MNEMESH_GATEWAY_LISTEN="x", MNEMESH_OTHER="y", PATH="/bin", HOME="/")


def test_names_are_not_checked_unless_asked() -> None:
    _load(None, MNEMESH_WHATEVER="1")


def test_secrets_do_not_show_themselves() -> None:
    app = _load(MNEMESH_KEYS="first-key,second-key")
    assert app.url == "postgresql://u:pw@h/db"
    assert isinstance(app.url, Secret)
    assert "pw" not in repr(app)
    assert "first-key" not in repr(app)


def test_reference_has_every_setting_and_no_secret() -> None:
    rows = {row.names[0]: row for row in describe(App)}
    assert set(rows) | {"DB_POOL_MAX"} == names(App)
    assert rows["MNEMESH_URL"].required
    assert rows["MNEMESH_URL"].secret
    assert (rows["MNEMESH_KEYS"].default, rows["MNEMESH_KEYS"].kind) == ("", "comma-separated texts")
    assert (rows["MNEMESH_MODE"].kind, rows["MNEMESH_MODE"].default) == ("one of none, api_key", "none")
    assert rows["MNEMESH_POOL_MAX"].names == ("MNEMESH_POOL_MAX", "DB_POOL_MAX")
    assert (rows["MNEMESH_POOL_WAIT_SECONDS"].kind, rows["MNEMESH_POOL_WAIT_SECONDS"].default) == ("seconds", "2.0")
    assert (rows["MNEMESH_STRICT"].default, rows["MNEMESH_MODEL"].default) == ("false", "")
    assert rows["MNEMESH_HOME"].doc == "Where files are."


def test_field_of_an_unknown_type_is_a_defect() -> None:
    @dataclass(frozen=True)
    class Odd:
        value: complex = field(default=0j, metadata={"env": "MNEMESH_ODD", "doc": "Odd."})

    with pytest.raises(TypeError, match="complex"):
        load(Odd, {"MNEMESH_ODD": "1"})


@pytest.mark.parametrize("cls", [TelemetrySettings, RpcSettings, DrainSettings])
def test_settings_of_the_mesh_load_from_an_empty_environment_and_are_documented(cls: type[Any]) -> None:
    assert load(cls, {}, known=()) == cls()
    for row in describe(cls):
        assert row.doc.endswith(".")
        assert row.names[0].startswith("MNEMESH_")
