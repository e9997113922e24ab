"""`doctor` and `backends` say what was looked for, what was found and what to do."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from accelwatch.backend import Check, Context, Probe
from accelwatch.cli.node.doctor import _headline, _report
from accelwatch.node.diagnosis import Probed, Verdict, diagnose, probe_all
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch


def test_a_healthy_node_is_fine(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    run = accelwatch("doctor", "--json", *PATIENT, environ=scenario.environment())
    found = json.loads(run.stdout)
    nvidia = next(report for report in found["backends"] if report["name"] == "nvidia")
    assert nvidia["status"]["state"] == "ok"
    assert nvidia["status"]["versions"]["driver"] == "590.48.01"
    assert nvidia["status"]["devices"] == 8
    assert run.returncode == found["verdict"]


def test_a_driver_that_will_not_start_is_broken_with_advice(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.fault("nvmlInit_v2", "error:18")
    scenario.write()
    run = accelwatch("doctor", *PATIENT, environ=scenario.environment())
    assert run.returncode in (1, 2)
    lines = run.stdout.splitlines()
    assert lines[3].startswith("nvidia       unavailable: NVML: ")
    assert lines[4] == "    do: reload the nvidia kernel modules or reboot after the driver update"
    assert lines.index("in use") > 4


def test_a_lost_device_is_named(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.lose(3, handle=True)
    scenario.write()
    run = accelwatch("doctor", *PATIENT, environ=scenario.environment())
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert lines[3] == "devices that are not well"
    assert lines[4].startswith("    nvidia3: lost")
    assert lines.index("in use") > 4


def test_what_is_not_here_is_one_line_and_with_all_its_checks(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    short = accelwatch("doctor", *PATIENT, environ=scenario.environment()).stdout
    (line,) = (line for line in short.splitlines() if "cambricon" in line)
    assert line.startswith("not here: accel, amd, apple, ")
    assert line.endswith(" (details: accelwatch doctor --all)")
    assert "cambricon_ctl" not in short
    assert "nvidia" not in line
    whole = accelwatch("doctor", "--all", *PATIENT, environ=scenario.environment()).stdout
    assert "/dev/cambricon_ctl" in whole
    assert "not here: " not in whole
    assert whole.index("nvidia       ok") < whole.index("accel        absent")


def test_a_library_that_works_has_no_advice_beside_it(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    for words in (("doctor",), ("doctor", "--all")):
        text = accelwatch(*words, *PATIENT, environ=scenario.environment()).stdout
        assert "nvidia       ok through nvml, 8 devices" in text
        assert "modprobe nvidia" not in text


def test_hardware_that_nothing_was_read_of_is_broken() -> None:
    probe = Probe(present=True, checks=(Check(subject="driver", ok=False, remedy="load it"),))
    status = BackendStatus(name="amd", vendor="amd", state=BackendState.ABSENT)
    shot = Snapshot(time=0.0, host="n", version="0", backends=(status,))
    lines = _report(diagnose(shot, Probed({"amd": probe}, {}, {}))).splitlines()
    assert lines.index("    --  driver") < lines.index("in use")
    assert "        do: load it" in lines


def test_a_backend_that_cannot_be_loaded_is_broken() -> None:
    shot = Snapshot(time=0.0, host="n", version="0")
    lines = _report(diagnose(shot, Probed({}, {"odd": "no module"}, {}))).splitlines()
    assert lines[3] == "odd          cannot be used: no module"


def test_a_misspelled_ability_of_a_backend_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[accelwatch.backends]\nodd = odd_backend:Odd\n")
    (tmp_path / "odd_backend.py").write_text(
        "from accelwatch.backend import Probe\n"
        "class Odd:\n"
        "    name = vendor = 'odd'\n"
        "    def __init__(self, context): pass\n"
        "    def probe(self): return Probe(present=True)\n"
        "    def wait_event(self, timeout_s): return ()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    probed = probe_all(Context(root=tmp_path))
    complaint = "wait_event is not used; did you mean wait_events of EventSource?"
    assert {name: misses for name, misses in probed.near_misses.items() if misses} == {
        "odd": (complaint,)
    }
    for state in (BackendState.OK, BackendState.ABSENT):
        status = BackendStatus(name="odd", vendor="odd", state=state)
        shot = Snapshot(time=0.0, host="n", version="0", backends=(status,))
        assert f"    --  the plug-in: {complaint}" in _report(diagnose(shot, probed)).splitlines()
    sys.modules.pop("odd_backend")


@pytest.mark.parametrize(
    ("verdict", "devices", "headline"),
    [
        (Verdict.FINE, 0, "no accelerator was found; all that is here can be read"),
        (Verdict.FINE, 1, "all that is here can be read"),
        (Verdict.BROKEN, 0, "devices are here, and none can be read"),
    ],
)
def test_the_first_line_says_when_there_is_nothing(
    verdict: Verdict, devices: int, headline: str
) -> None:
    surroundings = replace(
        diagnose(Snapshot(time=0.0, host="n", version="0"), Probed({}, {}, {})), verdict=verdict
    )
    assert _headline(replace(surroundings, devices=devices)) == headline


def test_backends_lists_each_installed_one() -> None:
    run = accelwatch("backends", *PATIENT)
    assert run.returncode == 0
    listed = {line.split()[0] for line in run.stdout.splitlines()}
    assert {"amd", "host", "intel", "kernel_log", "nvidia"} <= listed
    names = [
        report["name"] for report in json.loads(accelwatch("backends", "--json", *PATIENT).stdout)
    ]
    assert names == sorted(names)


@pytest.mark.parametrize(("platform", "expected"), [("linux", True), ("darwin", False)])
def test_only_linux_has_namespaces_of_processes(
    platform: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    surroundings = diagnose(
        Snapshot(time=0.0, host="n", version="0"), Probed({}, {}, {})
    ).surroundings
    assert ("host pid namespace" in {check.subject for check in surroundings}) == expected
