"""`accelwatch history` as somebody types it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from accelwatch.archive.history import layout
from accelwatch.cli.startup.app import build
from support.archives.history_archives import DAY, steady, write


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(build(), ["history", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "a", steady(minutes=60))


def test_show_reports_span_entities_columns_and_size(folder: Path) -> None:
    code, text, _ = run("show", folder)
    assert code == 0
    assert "2026-03-01 00:00:00Z to 2026-03-01 00:59:30Z" in text
    assert "devices   4 (4 x NVIDIA B200)" in text
    assert " 100.0%  power_watts" in text


def test_show_as_json(folder: Path) -> None:
    code, text, _ = run("show", folder, "--json")
    found = json.loads(text)
    assert code == 0
    assert found["nodes"] == 2
    assert {column["name"] for column in found["node_columns"]} == {"host_load_average.1"}


def test_an_archive_that_is_well_is_ok(folder: Path) -> None:
    assert run("check", folder) == (0, "", "accelwatch: ok; 0 notes\n")


def test_a_mistake_is_named_and_exits_with_1(folder: Path) -> None:
    path = layout.day_file(folder, "devices", DAY)
    path.write_bytes(b"no Parquet")
    code, text, complaint = run("check", folder)
    assert (code, text) == (1, "")
    assert f"{path}: cannot be read" in complaint
    code, text, _ = run("check", folder, "--json")
    assert code == 1
    assert json.loads(text)["findings"][0]["file"] == str(path)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    code, _, complaint = run("show", tmp_path)
    assert code == 1
    assert "it has no history.json" in complaint
