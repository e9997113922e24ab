"""`accelwatch fleet --replay` on a pipe, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.cli.fleet.fleet_replay import Replaying, backtest_argv
from accelwatch.cli.history import archive_arguments
from accelwatch.cli.startup.app import build
from accelwatch.fleet.replay.archive import ReplayedArchive
from support.archives.replay_archives import bad_day


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bad_day(tmp_path_factory.mktemp("archive") / "fleet")


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(build(), ["fleet", "--replay", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


def document(*words: object) -> dict[str, Any]:
    code, text, errors = run(*words)
    assert (code, errors) == (0, "")
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_past_time_as_json(folder: Path) -> None:
    found = document(folder, "--at", "2026-03-01T04:10:00Z", "--json")
    assert found["schema"] == "accelwatch-fleet/2"
    assert found["time"] == found["fleet"]["time"] == "2026-03-01T04:10:00.000Z"
    assert found["fleet"]["devices"] == {"lost": 1, "ok": 3, "unreachable": 2}
    assert {node["node"]: node["state"] for node in found["nodes"]} == {
        "node000": "up",
        "node001": "down",
        "node002": "up",
    }
    assert "devices" not in found


def test_without_a_time_it_is_the_end(folder: Path) -> None:
    assert document(folder, "--json")["time"] == "2026-03-01T08:59:30.000Z"
    assert document(folder, "--at", "-30m", "--json")["time"] == "2026-03-01T08:29:30.000Z"


def test_devices_by_filter_and_field(folder: Path) -> None:
    found = document(
        folder,
        "--at",
        "2026-03-01T04:10:00Z",
        "--json",
        "--filter",
        'job == "4711"',
        "--fields",
        "power_watts,temperature_celsius.gpu",
    )
    [well, lost] = found["devices"]
    assert (well["job"], well["user"], well["state"]) == ("4711", "ada", "ok")
    assert well["values"] == {"power_watts": 500.0, "temperature_celsius.gpu": 40.0}
    assert (lost["state"], lost["values"]["power_watts"]) == ("lost", None)


def test_groups(folder: Path) -> None:
    found = document(folder, "--at", "2026-03-01T04:10:00Z", "--json", "--by", "job")
    ada, nobody = found["groups"]
    assert (ada["group"], ada["nodes_total"], ada["worst"]) == ("4711", 1, "lost")
    assert (nobody["group"], nobody["devices"]) == (None, {"ok": 2, "unreachable": 2})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "node001  down"),
        (("--devices",), "node000  0-1     NVIDIA B200  lost"),
        (("--by", "user"), "ada"),
        (("--format", "csv"), "node001,down,"),
        (("--format", "csv", "--devices"), "node000,up,nvidia:GPU-0-0,"),
        (("--format", "csv", "--by", "job"), "4711,1,2,lost"),
    ],
)
def test_tables_and_csv(folder: Path, words: tuple[str, ...], says: str) -> None:
    code, text, _ = run(folder, "--at", "2026-03-01T04:10:00Z", *words)
    assert code == 0
    assert says in text


def test_strict_exits_with_6_when_something_is_lost(folder: Path) -> None:
    assert run(folder, "--at", "2026-03-01T04:10:00Z", "--strict")[0] == 6
    assert run(folder, "--at", "2026-03-01T01:00:00Z", "--strict")[0] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--at", "2026-03-02"), "is outside the archive, which is from 2026-03-01T00:00:00.000Z"),
        (("--at", "yesterday"), "no moment 'yesterday'"),
        (("--targets", "n1"), "--replay has its own nodes"),
        (("--hub", "http://h:1"), "--replay has its own nodes"),
        (("--format", "prometheus"), "--replay prints one moment"),
        (("--watch", "1s"), "--replay prints one moment"),
        (("--filter", "power_wats > 1"), "did you mean power_watts"),
        (("--fields", "power_wats"), "power_watts"),
        (("--incidents", "none.ndjson"), "none.ndjson: cannot be read"),
        (("--incidents", "a", "--rules", "b"), "--rules is for the back-test"),
        (("--no-backtest", "--rules", "b"), "--rules is for the back-test"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, words: tuple[str, ...], says: str) -> None:
    code, text, errors = run(folder, *words)
    assert (code, text) == (2, "")
    assert says in errors


def words_of(folder: Path, **options: Any) -> list[str]:
    return backtest_argv(Replaying(replay=folder, **options), ReplayedArchive(folder))


def test_incidents_are_looked_for_unless_they_are_given_or_not_wanted(folder: Path) -> None:
    judged = json.loads(words_of(folder)[-1])
    assert judged["folder"] == str(folder)
    assert (judged["start"], judged["end"]) == (1772323200.0, 1772323200.0 + 9 * 3600)
    assert words_of(folder, no_backtest=True) == []
    assert words_of(folder, incidents=Path("found.ndjson")) == []


def test_the_rules_of_the_back_test_are_packs_and_files(folder: Path, tmp_path: Path) -> None:
    rules = tmp_path / "own.yaml"
    rules.write_text(
        "version: 1\nrules:\n  - id: x\n    title: X\n    when: power_watts > 1\n    severity: info\n"
    )
    judged = json.loads(words_of(folder, rules=["nvidia", str(rules)])[-1])
    assert (judged["packs"], judged["files"]) == (["nvidia"], [str(rules)])
    with pytest.raises(AccelwatchError, match=r"none\.yaml"):
        words_of(folder, rules=["none.yaml"])


@pytest.mark.parametrize("words", [("--at", "1"), ("--incidents", "x"), ("--no-backtest",)])
def test_its_options_need_an_archive(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(build(), ["fleet", *words])
    assert result.exit_code == 2
    assert "go with --replay DIR" in result.stderr


def test_what_is_no_archive_is_reported_with_what_to_do(tmp_path: Path) -> None:
    code, _, errors = run(tmp_path)
    assert code == 1
    assert "is not a history archive" in errors
    assert f"accelwatch history check {tmp_path}" in errors


def test_a_damaged_file_is_reported_and_the_rest_is_printed(tmp_path: Path) -> None:
    folder = bad_day(tmp_path / "fleet")
    path = folder / "nodes" / "date=2026-03-01.parquet"
    path.write_bytes(b"no Parquet")
    code, text, errors = run(folder, "--json")
    assert code == 0
    assert f"{path}: cannot be read" in errors
    assert json.loads(text)["fleet"]["devices"] == {"ok": 6}


def test_without_pyarrow_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise UsageError("history archives need pyarrow: pip install 'accelwatch[history]'")

    monkeypatch.setattr(archive_arguments, "need_pyarrow", missing)
    code, _, errors = run(folder)
    assert code == 2
    assert "pip install 'accelwatch[history]'" in errors
