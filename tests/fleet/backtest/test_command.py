"""`accelwatch rules backtest`: what goes in and out, and what is said on stderr."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.archive.recording import Recorder
from accelwatch.base.errors import AccelwatchError
from accelwatch.cli.startup.app import build
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import Snapshot
from support.archives.synthetic_fleet import Fault, Plan, archive
from support.fleet.two_nodes import view
from support.machines import composed as machines

RULES = """
version: 1
rules:
- {id: my.hot, title: Too warm, when: "temperature_celsius.gpu > 80", keep: 0, severity: critical}
- {id: my.fan, title: A fan stands still, when: "fan_speed_rpm == 0"}
"""


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(build(), ["rules", "backtest", *words])
    if isinstance(result.exception, AccelwatchError):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def rules(tmp_path: Path) -> str:
    file = tmp_path / "mine.yaml"
    file.write_text(RULES, encoding="utf-8")
    return str(file)


def test_incidents_on_stdout_and_gaps_on_stderr(tmp_path: Path, rules: str) -> None:
    faults = (Fault("thermal", 1, 900.0, 600.0, 0),)
    plan = Plan(nodes=3, devices=2, spare=1, seconds=1800, sessions=False, faults=faults)
    fleet = archive(tmp_path / "a", plan)
    played = ["--history", str(tmp_path / "a"), "--rules", rules]
    code, out, errors = run(*played)
    (line,) = [json.loads(one) for one in out.splitlines()]
    assert code == 0
    assert (line["rule"], line["level"], line["node"]) == ("my.hot", "alert", fleet.names[1])
    assert errors.count("my.fan") == 1
    assert "1 of 2 rules need columns that this archive lacks" in errors
    assert json.loads(run(*played, "--format", "json")[1]) == [line]
    assert json.loads(run(rules, *played[:2], "--json")[1]) == [line]
    table = run(*played, "--format", "table")[1]
    assert "my.hot" in table.splitlines()[1]
    assert "1 incident in 0.0 days, 1 of them alerts" in table
    assert run(*played, "--rule", "my.fan")[1] == ""
    later = str(plan.start + 1600)
    assert run(*played, "--from", later)[1] == ""
    assert "nothing was recorded" not in run(*played, "--from", later)[2]
    for span in (("--from", "2030-01-01"), ("--to", "2020-01-01")):
        code, out, errors = run(*played, *span)
        assert (code, out) == (0, "")
        assert "nothing was recorded then: the archive goes from 2026-01-01 00:00:0" in errors


def test_what_cannot_be_replayed_is_reported(tmp_path: Path, rules: str) -> None:
    with pytest.raises(AccelwatchError, match="say one of --history DIR"):
        run("--rules", rules)
    with pytest.raises(AccelwatchError, match="no history archive"):
        run("--history", str(tmp_path), "--rules", rules)
    with pytest.raises(AccelwatchError, match="did you mean my.hot"):
        run("--history", str(tmp_path), "--rules", rules, "--rule", "my.hut")
    with pytest.raises(AccelwatchError, match="--prometheus needs --from"):
        run("--prometheus", "http://127.0.0.1:1", "--rules", rules)


def test_a_recording_is_played(tmp_path: Path) -> None:
    device_view = view(0, {("power_watts",): 300.0})
    event = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=machines.NOW + 20,
        text="GPU has fallen off the bus",
        source="kernel_log",
        device_id=device_view.device.id,
    )
    with Recorder(tmp_path / "node.ndjson.zst") as recorder:
        for second in range(60):
            events = (event,) if second >= 20 else ()
            snapshot = Snapshot(time=machines.NOW + second, host="n1", version="")
            recorder.write(msgspec.structs.replace(snapshot, devices=(device_view,), events=events))
    code, out, _ = run("--replay", str(tmp_path / "node.ndjson.zst"), "--rules", "nvidia")
    (line,) = [json.loads(one) for one in out.splitlines()]
    assert (code, line["rule"], line["node"]) == (0, "nvidia.lost", "n1")
    assert line["opened"] - machines.NOW == pytest.approx(20, abs=2)
