"""`accelwatch check` as schedulers call it: over the stand-in driver, with and without an agent."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import backends.cambricon.machines
from accelwatch.agent.rules.counts import DeviceCounts
from accelwatch.agent.rules.snapshot_check import Finding
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import RuleFiles, load
from accelwatch.archive.recording import Recorder
from accelwatch.cli.check.check_command import check_command
from accelwatch.cli.check.check_options import CheckOptions
from accelwatch.cli.check.check_report import Report, Status, document, nagios, slurm
from accelwatch.cli.check.check_sources import of_snapshot
from accelwatch.cli.options import made
from accelwatch.schema.event import Category, ErrorEvent
from support.machines import composed as machines
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.warm_command import accelwatch
from support.servers.agent_processes import AgentProcess

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: GPU has fallen off the bus, when: 'state == "lost"', severity: critical}
- {id: gpu.low, title: Little power, when: 'avg(power_watts, "5m") < 1'}
- {id: gpu.long, title: Any power for long, when: power_watts > 0, for: 5m}
"""
PATIENT = ("--timeout", "50s")


@pytest.fixture
def driver(tmp_path: Path) -> NvmlScenario:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.write()
    (tmp_path / "rules.yaml").write_text(RULES)
    return scenario


@pytest.fixture
def agent(tmp_path: Path, driver: NvmlScenario) -> Iterator[AgentProcess]:
    config = (
        "collect: {backends: [nvidia], interval: 200ms}\nstate_dir: state\n"
        "rules: {files: [rules.yaml]}\n"
    )
    started = AgentProcess(tmp_path, config, driver.environment())
    yield started
    started.kill()


def check(driver: NvmlScenario, *words: str) -> tuple[int, str]:
    run = accelwatch("check", *PATIENT, *words, environ=driver.environment())
    assert "Traceback" not in run.stderr
    return run.returncode, run.stdout


def on_the_spot(driver: NvmlScenario, *words: str) -> tuple[int, str]:
    rules = str(driver.path.parent / "rules.yaml")
    return check(driver, "--agent", "none", "-b", "nvidia", "--rules", rules, *words)


def test_a_healthy_node_and_what_one_look_cannot_evaluate(driver: NvmlScenario) -> None:
    code, text = on_the_spot(driver, "--expect", "8")
    assert (code, len(text.splitlines())) == (Status.OK, 1)
    code, text = on_the_spot(driver, "--expect", "8", "-v")
    assert code == Status.OK
    first, *rest = text.splitlines()
    assert first.startswith("ACCELWATCH OK - ")
    assert first.endswith(" | devices=8 lost=0 silent=0")
    assert "holds now, counts only after its `for`: gpu.long" in rest
    assert "not evaluated (needs history): gpu.low" in rest
    assert "source: live reading" in rest


def test_a_lost_device_is_critical(driver: NvmlScenario) -> None:
    driver.lose(3).write()
    code, text = on_the_spot(driver)
    assert code == Status.CRITICAL
    assert "nvidia3: GPU has fallen off the bus" in text.splitlines()[0]
    assert "devices=8 lost=1" in text
    code, text = on_the_spot(driver, "--slurm")
    assert (code, text.startswith("accelwatch: nvidia3: GPU has")) == (2, True)
    code, text = on_the_spot(driver, "--json")
    parsed = json.loads(text)
    assert (parsed["status"], parsed["exit_code"], parsed["findings"][0]["rule"]) == (
        "critical", 2, "gpu.lost",
    )  # fmt: skip


def test_a_hung_driver_is_reported_within_the_deadline(driver: NvmlScenario) -> None:
    driver.fault("*", "hang").write()
    code, text = on_the_spot(driver, "--timeout", "3s")
    assert code == Status.UNKNOWN
    assert text.startswith("ACCELWATCH UNKNOWN - ")


def test_too_few_devices_and_none_at_all(driver: NvmlScenario) -> None:
    code, text = on_the_spot(driver, "--expect", "9")
    assert code == Status.CRITICAL
    assert "8 devices, 9 expected" in text
    driver.system("count", 0).write()
    code, text = on_the_spot(driver)
    assert code == Status.UNKNOWN


@pytest.mark.parametrize(
    "words",
    [("--bogus",), ("--rules", "/nowhere.yaml"), ("--timeout", "x"), ("--expect", "-1")],
)
def test_a_mistake_is_unknown_and_never_critical(
    driver: NvmlScenario, words: tuple[str, ...]
) -> None:
    assert check(driver, "--agent", "none", *words)[0] == Status.UNKNOWN


def test_a_folder_without_a_rule_file_judges_nothing(driver: NvmlScenario, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    code, text = check(driver, "--agent", "none", "-b", "nvidia", "--rules", str(folder))
    assert code == Status.UNKNOWN
    assert f"{folder}: there is no rule file in this folder" in text


def test_the_agent_is_queried_first(agent: AgentProcess, driver: NvmlScenario) -> None:
    agent.wait_for(agent.ready)
    driver.lose(3).write()
    agent.wait_for(lambda: bool(json.loads(agent.get("/v1/incidents"))["incidents"]))
    code, text = check(driver, "-v", "--agent", agent.address)
    assert code == Status.CRITICAL
    assert "nvidia3: GPU has fallen off the bus" in text.splitlines()[0]
    assert "source: incidents of the agent" in text
    rules = str(agent.folder / "rules.yaml")
    code, text = check(driver, "-v", "--agent", agent.address, "--rules", rules)
    assert code == Status.CRITICAL
    assert "source: readings of the agent" in text


def test_the_packs_that_fit_the_machine_are_queried(driver: NvmlScenario) -> None:
    driver.lose(3).write()
    code, text = check(driver, "--agent", "none", "-b", "nvidia", "--json")
    document = json.loads(text)
    assert code == Status.CRITICAL
    assert {one["rule"] for one in document["findings"]} == {"nvidia.lost"}
    shipped = sum(len(load([pack_file(name)], tests=False).rules) for name in pack_names())
    assert 80 < document["rules"] < shipped - 60
    assert not any("amd." in note or "intel." in note for note in document["notes"])


LEAN = """
import sys
from accelwatch.cli.startup.entry import dispatch
code = dispatch(["check", "--agent", "none", "-b", "nvidia", "--slurm", "--timeout", "50s"])
print(code, [name for name in ("numpy", "asyncio", "aiohttp") if name in sys.modules])
"""


def test_a_check_loads_nothing_of_what_a_hub_needs(driver: NvmlScenario) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LEAN],
        env={**os.environ, **driver.environment()},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert run.stdout == "0 []\n"


def test_words_are_understood() -> None:
    words = [
        *("--pack=nvidia", "-p", "host", "--expect", "8", "--slurm", "--root", "/host"),
        *("--rules", "a.yaml", "--json"),
    ]
    values = check_command.make_context("check", words).params
    assert made(CheckOptions, values) == CheckOptions(
        pack=("nvidia", "host"),
        expect=8,
        slurm=True,
        root="/host",
        rules=(Path("a.yaml"),),
        as_json=True,
    )
    assert made(CheckOptions, check_command.make_context("check", []).params) == CheckOptions()


def test_what_the_status_rests_on() -> None:
    info = Finding(severity=Severity.INFO, title="a note")
    warning = Finding(severity=Severity.WARNING, title="warm")
    critical = Finding(severity=Severity.CRITICAL, title="gone", device="nvidia3")
    assert Report(findings=(info,)).status is Status.OK
    assert Report(findings=(info, warning)).status is Status.WARNING
    assert Report(findings=(warning,), blind=("hung",)).status is Status.UNKNOWN
    assert Report(findings=(warning, critical), blind=("hung",)).status is Status.CRITICAL
    whole = Report(findings=(warning, critical), blind=("hung",))
    assert whole.causes == ["nvidia3: gone", "hung", "warm"]


def test_a_problem_of_the_agent_is_shown_by_default_and_a_note_only_on_request() -> None:
    report = Report(host="n", problems=("a rule is broken",), notes=("a note",), source="a test")
    assert nagios(report).splitlines()[1:] == ["a rule is broken"]
    assert nagios(report, verbose=True).splitlines()[1:] == [
        "a rule is broken", "a note", "source: a test",
    ]  # fmt: skip
    parsed = json.loads(document(report))
    assert (parsed["problems"], parsed["notes"]) == (["a rule is broken"], ["a note"])


def test_names_of_others_change_neither_line_nor_reason() -> None:
    finding = Finding(severity=Severity.CRITICAL, title="a | b\nc \x1b[31m\u0434" + "x" * 300)
    report = Report(host="n", findings=(finding,), devices=DeviceCounts(total=1))
    first = nagios(report).splitlines()[0]
    assert first.count("|") == 1
    assert "\x1b" not in first
    reason = slurm(report)
    assert reason.isascii()
    assert len(reason) <= 201
    assert reason.count("\n") == 1
    assert slurm(Report()) == ""


def test_of_many_rules_that_one_look_cannot_evaluate_some_are_named(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    rules = [f"- {{id: r{at}, title: R, when: 'avg(power_watts, \"5m\") < 1'}}" for at in range(5)]
    file.write_text("\n".join(["version: 1", "rules:", *rules, ""]), encoding="utf-8")
    files = RuleFiles([file], tests=False)
    report = of_snapshot(machines.snapshot(), files, "a test", listened=False)
    assert report.unknown == tuple(f"r{at}" for at in range(5))
    line = "not evaluated (needs history): r0, r1, r2 and 2 more (--json names them)"
    assert report.notes == (line,)
    assert json.loads(document(report))["unknown"] == list(report.unknown)


XID = """- {id: gpu.xid, title: An Xid, when: 'event("xid", code == 79)'}\n"""


def test_a_recording_is_judged_with_the_events_that_it_has(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES + XID)
    file = tmp_path / "node.ndjson.zst"
    event = ErrorEvent(
        code="xid_79", category=Category.BUS, time=machines.NOW - 5, text="off", source="nvml",
        device_id=machines.device(0).id,
    )  # fmt: skip
    with Recorder(file) as recorder:
        recorder.write(machines.snapshot(machines.view(0), machines.lost_view(1), events=(event,)))

    run = accelwatch("check", "-v", "--replay", str(file), "--rules", str(rules), *PATIENT)
    assert run.returncode == Status.CRITICAL
    assert "nvidia1: GPU has fallen off the bus" in run.stdout
    assert "[warning] nvidia0: An Xid" in run.stdout
    assert f"source: replay of {file}" in run.stdout


def test_a_scenario_is_judged_without_what_was_before(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES + XID)
    run = accelwatch("check", "-v", "--replay", "demo", "--rules", str(rules), *PATIENT)
    assert run.returncode == Status.CRITICAL
    assert "nvidia5: GPU has fallen off the bus" in run.stdout
    assert "not evaluated (needs history): gpu.low, gpu.xid" in run.stdout


def test_a_recording_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    run = accelwatch("check", "--replay", str(tmp_path / "none"))
    assert run.returncode == Status.UNKNOWN
    assert "no recording" in run.stdout


def test_the_only_reason_is_not_repeated_and_several_are_listed() -> None:
    alone = nagios(Report(host="n", blind=("no accelerator was found",)))
    assert alone == "ACCELWATCH UNKNOWN - n no accelerator was found | devices=0 lost=0 silent=0\n"
    both = nagios(Report(host="n", blind=("one", "two"))).splitlines()
    assert both[1:] == ["one", "two"]


def test_a_card_that_one_table_leaves_out_is_no_lost_one(tmp_path: Path) -> None:
    with backends.cambricon.machines.staged(tmp_path, "mlu370x8-x2"):
        info = tmp_path / "info"
        info.write_text(info.read_text().partition("Card 1\n")[0])
        words = ("--agent", "none", "--root", str(tmp_path), "-b", "cambricon", "--pack", "device")
        run = accelwatch("check", *PATIENT, *words)
    assert run.returncode == Status.WARNING, run.stdout + run.stderr
    assert "mlu1" in run.stdout
    assert "does not list the NPU at 0000:3d:00.0 in this run" in run.stdout
    assert "lost=0" in run.stdout
