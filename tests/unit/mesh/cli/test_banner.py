"""The banner: each line can be acted on, and the curl line is one that a shell takes."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from mesh.cli import banner as module
from mesh.cli.banner import Banner, banner_lines, command_line, curl_line
from mesh.cli.model_choice import embedder_line, model_line
from mesh.models.settings import ModelSettings

BANNER = Banner(
    http_url="http://127.0.0.1:8080",
    model="builtin",
    embedder="minilm-l6-v2 int8, local",
    chat_command=".venv/bin/mnemesh chat",
    avatar_uid="5f0c7a52-9d1e-4b6a-8a44-6d6961000001",
    needs_key=False,
)


def test_it_says_how_to_talk_read_and_stop() -> None:
    lines = banner_lines(BANNER)
    assert lines[0] == "model: builtin"
    assert [line.split()[0] for line in lines if line][2:] == ["talk", "or", "read", "stop"]


def test_without_an_avatar_there_is_no_curl_line() -> None:
    assert not any(line.startswith("or") for line in banner_lines(replace(BANNER, avatar_uid="")))


def test_the_curl_line_opens_a_session_and_talks_in_it() -> None:
    line = curl_line(BANNER)
    assert "\n" not in line
    words = shlex.split(line)
    assert words[0] == "curl"
    assert BANNER.avatar_uid in line
    assert line.endswith(":converse")


def test_where_keys_are_asked_for_the_banner_says_how_to_get_one() -> None:
    lines = "\n".join(banner_lines(replace(BANNER, needs_key=True)))
    assert "mnemesh keys" in lines
    assert "Authorization: Bearer $MNEMESH_API_KEY" in lines


@pytest.mark.parametrize(
    ("settings", "begins"),
    [
        (ModelSettings(), "builtin"),
        (ModelSettings(gemini_api_key="k"), "gemini"),
        (ModelSettings(openai_base_url="http://localhost:11434/v1"), "openai"),
        (ModelSettings(gemini_api_key="k", provider="builtin"), "builtin"),
    ],
)
def test_the_model_line_names_what_answers(settings: ModelSettings, begins: str) -> None:
    assert model_line(settings).startswith(begins)


def test_the_built_in_model_says_how_to_get_a_better_one() -> None:
    assert "GEMINI_API_KEY" in model_line(ModelSettings())
    assert "MNEMESH_OPENAI_BASE_URL" in model_line(ModelSettings())


def test_the_embedder_line_names_what_makes_vectors() -> None:
    assert "local" in embedder_line(ModelSettings())
    assert embedder_line(ModelSettings(gemini_api_key="k")) == "gemini, gemini-embedding-001"


def test_the_chat_command_is_the_program_that_was_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "mnemesh"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module.sys, "argv", [str(program), "up"])
    assert command_line(["chat"]) == ".venv/bin/mnemesh chat"
