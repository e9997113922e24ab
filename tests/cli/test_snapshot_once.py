"""`accelwatch check` at one look: what a device says of itself counts at once, as everywhere else.

Every fixture machine of every vendor is looked at, as its golden document has it.
"""

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import msgspec
import pytest

from accelwatch.agent.rules.node_note import node_note
from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.evaluation.documents import IncidentsPage, NodeNote
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import RuleFiles
from accelwatch.base.absence import Absence
from accelwatch.cli.check.check_report import Report, Status, slurm
from accelwatch.cli.check.check_sources import expecting, of_incidents, of_snapshot
from accelwatch.fleet.picture.why.answer import answer
from accelwatch.fleet.picture.why.observed_state import observed_machine
from accelwatch.fleet.picture.why.subject import subject_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.json.wire import decode
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView, Snapshot
from accelwatch.schema.status.device_status import effective_state
from support.incidents.incident_samples import incident
from support.machines import composed as machines
from support.machines.samples import FIXTURES
from support.processes.shell_scripts import script

DOCUMENTS = sorted((FIXTURES / "golden").glob("*/snapshot.json"))
WORST = {
    "failed": Status.CRITICAL,
    "lost": Status.CRITICAL,
    "degraded": Status.WARNING,
}


@cache
def packs() -> RuleFiles:
    return RuleFiles([pack_file(name) for name in pack_names()], tests=False)


def looked_at(snapshot: Snapshot) -> Report:
    return of_snapshot(snapshot, packs(), "a test", listened=False)


def of_agent(snapshot: Snapshot) -> Report:
    """What an agent says in whose first minute no rule has fired yet."""
    page = IncidentsPage(
        evaluated=True, interval_s=1.0, evaluated_age_s=0.2, node=node_note(snapshot)
    )
    return of_incidents(msgspec.json.encode(page))


def unhealthy(health: Health, reason: str, **changes: object) -> DeviceView:
    view = msgspec.structs.replace(machines.view(0), health=health, health_reasons=(reason,))
    return msgspec.structs.replace(view, **changes)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_check_why_and_the_row_agree_about_each_device(path: Path) -> None:
    snapshot = decode(path.read_bytes())
    observed = observed_machine(snapshot)
    for report in (looked_at(snapshot), of_agent(snapshot)):
        whole = [
            view for view in snapshot.devices if effective_state(view.state, view.health) in WORST
        ]
        expected = max(
            (WORST[effective_state(v.state, v.health)] for v in whole), default=Status.OK
        )
        assert report.status >= expected, (report.source, report.findings)
        for view in whole:
            assert answer(observed, subject_of(observed, view.device.name)).wrong


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_one_look_names_each_device_that_is_not_well(path: Path) -> None:
    snapshot = decode(path.read_bytes())
    report = looked_at(snapshot)
    for view in snapshot.devices:
        word = effective_state(view.state, view.health)
        if word not in WORST:
            continue
        severities = [one.severity for one in report.findings if one.device == view.device.name]
        critical = WORST[word] is Status.CRITICAL
        assert severities, view.device.name
        assert not critical or Severity.CRITICAL in severities, view.device.name
        assert slurm(report)


def test_a_device_that_calls_itself_failed_is_critical_in_its_own_words() -> None:
    view = unhealthy(Health.FAILED, "the registration with the fabric failed")
    report = looked_at(machines.snapshot(view))
    assert report.status is Status.CRITICAL
    assert "health is failed (the registration with the fabric failed)" in slurm(report)


def test_a_device_that_calls_itself_degraded_is_a_warning() -> None:
    view = unhealthy(Health.DEGRADED, "a memory repair waits for a reset")
    assert looked_at(machines.snapshot(view)).status is Status.WARNING
    assert of_agent(machines.snapshot(view)).status is Status.WARNING


def test_a_row_that_cannot_be_read_is_a_warning_and_a_hung_one_unknown() -> None:
    reason = "part of the device cannot be read"
    unread = unhealthy(
        Health.DEGRADED, reason, state=DeviceState.DEGRADED, sample_time=None, sample_age_s=None
    )
    assert looked_at(machines.snapshot(unread)).status is Status.WARNING
    hung = msgspec.structs.replace(unread, state=DeviceState.UNRESPONSIVE, health=Health.FAILED)
    for report in (looked_at(machines.snapshot(hung)), of_agent(machines.snapshot(hung))):
        assert report.status is Status.UNKNOWN


@pytest.mark.parametrize("of_page", [False, True], ids=["readings", "incidents of an agent"])
@pytest.mark.parametrize("read", [0, 1])
def test_a_backend_that_cannot_be_used_is_unknown_and_critical_where_devices_are_expected(
    of_page: bool, read: int
) -> None:
    """Its device is on the bus; that another backend's device can be read says nothing of it."""
    reading = wholly_absent("nvidia0", Absence.ERROR)
    unread = unhealthy(
        Health.DEGRADED,
        "the library is empty",
        state=DeviceState.DEGRADED,
        sample_time=None,
        sample_age_s=None,
        reading=reading,
    )
    other = machines.view(1)
    other = msgspec.structs.replace(
        other, device=msgspec.structs.replace(other.device, backend="other")
    )
    status = BackendStatus(
        name=unread.device.backend,
        vendor=unread.device.vendor,
        state=BackendState.UNAVAILABLE,
        reason="library_unusable",
        message="the library is empty",
        devices=1,
    )
    snapshot = msgspec.structs.replace(
        machines.snapshot(unread, *[other] * read), backends=(status,)
    )
    report = of_agent(snapshot) if of_page else looked_at(snapshot)
    assert report.status is Status.UNKNOWN
    assert report.causes[0] == f"backend {status.name}: the library is empty"
    expected = expecting(report, 1 + read)
    assert expected.status is Status.CRITICAL
    assert expected.causes[0] == f"{read} of {1 + read} devices can be read; 1 on the bus cannot"
    assert expecting(report, 2 + read).causes[0] == f"{1 + read} devices, {2 + read} expected"


def test_a_state_that_may_pass_is_a_warning_at_one_look_and_a_number_is_none() -> None:
    view = machines.view(0)
    values = {**view.reading.values, ("fabric_state_info", "in_progress"): 1}
    waiting = msgspec.structs.replace(
        view, reading=msgspec.structs.replace(view.reading, values=values)
    )
    report = looked_at(machines.snapshot(waiting))
    assert [(one.rule, one.severity) for one in report.findings] == [
        ("nvidia.fabric.waiting", Severity.WARNING)
    ]
    values = {
        **view.reading.values,
        ("temperature_celsius", "memory"): 99,
        ("temperature_limit_celsius", "memory", "max_operating"): 95,
    }
    hot = msgspec.structs.replace(
        view, reading=msgspec.structs.replace(view.reading, values=values)
    )
    report = looked_at(machines.snapshot(hot))
    assert report.status is Status.OK
    assert any("nvidia.heat.memory" in note for note in report.notes)


def test_errors_that_were_counted_before_count_at_one_look() -> None:
    golden = FIXTURES / "golden/iluvatar-bi-v150-x2/snapshot.json"
    report = looked_at(decode(golden.read_bytes()))
    assert report.status is Status.WARNING
    assert {one.rule for one in report.findings} == {"hardware.memory.uncorrected_before"}


def test_an_incident_of_another_kind_hides_no_lost_device() -> None:
    """The agent lists a warning while a device is lost and its rule has not fired yet."""
    lost = NodeNote(host="n1", devices=8, lost=1, silent=0)
    fan = incident(
        severity=Severity.WARNING, rule="nvidia.fan", title="A fan that should turn has stopped"
    )
    page = IncidentsPage(
        evaluated=True,
        interval_s=1.0,
        evaluated_age_s=0.1,
        node=lost,
        incidents=(document_of(fan),),
    )
    report = of_incidents(msgspec.json.encode(page))
    assert report.status is Status.CRITICAL
    assert [one.title for one in report.findings] == [
        "A fan that should turn has stopped",
        "1 device is lost",
    ]


def test_a_page_of_an_older_agent_is_understood() -> None:
    page = json.loads(
        msgspec.json.encode(
            IncidentsPage(
                evaluated=True,
                interval_s=1.0,
                evaluated_age_s=0.1,
                node=NodeNote(host="n1", devices=8, lost=0, silent=0),
            )
        )
    )
    for name in ("unhealthy", "unread", "unusable"):
        del page["node"][name]
    assert of_incidents(json.dumps(page).encode()).status is Status.OK


HEALTH_PROGRAM = re.compile(r"```sh\n(#!/bin/sh\n# \S*accelwatch-health\n.*?)```", re.DOTALL)


def health_program(folder: Path, check: str) -> subprocess.CompletedProcess[str]:
    """The documented health program, with `accelwatch` being this script; scontrol says its words."""
    page = (Path(__file__).parents[2] / "docs/check.md").read_text(encoding="utf-8")
    found = HEALTH_PROGRAM.search(page)
    assert found is not None
    if check:
        script(folder / "bin/accelwatch", check)
    script(folder / "bin/scontrol", 'echo "scontrol $*"')
    environ = {"PATH": f"{folder}/bin:/usr/bin:/bin", "SLURMD_NODENAME": "n7"}
    program = script(folder / "accelwatch-health", found[1])
    return subprocess.run(
        [program], check=False, env=environ, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("status", [0, 1])
def test_the_health_program_leaves_a_node_alone_that_may_work(tmp_path: Path, status: int) -> None:
    run = health_program(tmp_path, f"exit {status}")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_health_program_drains_a_critical_node(tmp_path: Path) -> None:
    run = health_program(tmp_path, "echo 'accelwatch: nvidia3: gone'; exit 2")
    assert run.returncode == 2
    wanted = "scontrol update NodeName=n7 State=DRAIN Reason=accelwatch: nvidia3: gone\n"
    assert run.stdout == wanted


def test_the_health_program_drains_nothing_of_which_nothing_is_known(tmp_path: Path) -> None:
    run = health_program(tmp_path, "echo 'accelwatch: no answer'; exit 3")
    assert (run.returncode, run.stdout) == (3, "")
    assert "unknown: accelwatch: no answer" in run.stderr


@pytest.mark.parametrize(("check", "status"), [("", 127), ("exit 126", 126), ("kill -9 $$", 137)])
def test_a_health_program_that_does_not_run_fails_and_says_so(
    tmp_path: Path, check: str, status: int
) -> None:
    run = health_program(tmp_path, check)
    assert (run.returncode, run.stdout) == (status, "")
    assert f"the check did not run (status {status})" in run.stderr
