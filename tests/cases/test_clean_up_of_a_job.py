"""A job of sixteen GPUs ends by a link error: one incident, and three nodes that are well."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.recording import Recorder
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.run import final_lines
from accelwatch.schema.event import ErrorEvent
from backends.kernel_log.memory_log import Log, start
from support.archives.synthetic_fleet import Fault, Plan, archive
from support.machines import composed as machines
from support.processes.installed_command import accelwatch

from .conftest import Case

pytestmark = pytest.mark.oracle
CAUSE = "05-clean-up-of-a-job-that-ended/kmsg-node-with-the-cause"
OTHERS = "05-clean-up-of-a-job-that-ended/kmsg-other-nodes"
BUSES = ("0000:10:00.0", "0000:14:00.0", "0000:18:00.0", "0000:1c:00.0")
PATIENT = ("--timeout", "50s")
AT = 3607.0


def events_of(root: Path, kmsg: Path) -> list[ErrorEvent]:
    """What the backend reads in a kernel log."""
    random = root / "root/proc/sys/kernel/random"
    random.mkdir(parents=True)
    (random / "boot_id").write_text("11111111-2222-3333-4444-555555555555\n")
    (root / "root/proc/uptime").write_text("1000.0 1.0\n")
    (root / "state").mkdir()
    lines = [line + b"\n" for line in kmsg.read_bytes().splitlines()]
    backend = start(root / "root", Log(lines), backlog=True)
    events: list[ErrorEvent] = []
    while found := backend.wait_events(0.0):
        events += found
    backend.close()
    return events


def check(folder: Path, events: Sequence[ErrorEvent]) -> tuple[int, str]:
    """The node at one look, by all packs that are shipped."""
    views = [
        machines.view(index, device=machines.device(index, pci_bus_id=bus))
        for index, bus in enumerate(BUSES)
    ]
    ids = {view.device.pci_bus_id: view.device.id for view in views}
    dated = tuple(
        msgspec.structs.replace(event, device_id=ids[event.subject], time=machines.NOW - 5)
        for event in events
    )
    file = folder / "node.ndjson.zst"
    with Recorder(file) as recorder:
        recorder.write(machines.snapshot(*views, events=dated, errors=()))
    run = accelwatch("check", "--replay", str(file), *PATIENT)
    return run.returncode, run.stdout


def logged(node: int, events: Sequence[ErrorEvent], *, nodes: tuple[int, ...]) -> Fault:
    first = 994.0
    lines = tuple(
        (event.time - _BOOT - first, BUSES.index(event.subject), event.code, event.text)
        for event in events
    )
    return Fault("logged", node, AT, nodes=nodes, lines=lines)


# When the kernel of the log began, by the clock of the backend.
_BOOT = 1_800_000_000.0 - 1000.0


def test_only_the_node_with_the_cause_is_ill(case: Case, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    status, text = check(tmp_path / "one", events_of(tmp_path / "one", case(CAUSE)))
    assert status == 2
    assert "nvidia2" in text
    assert "nvidia.xid.follow_up" not in text
    status, text = check(tmp_path / "two", events_of(tmp_path / "two", case(OTHERS)))
    assert (status, "OK" in text) == (0, True), text


def test_the_job_is_one_incident(case: Case, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    cause = events_of(tmp_path / "one", case(CAUSE))
    others = events_of(tmp_path / "two", case(OTHERS))
    assert {event.subject for event in others} == set(BUSES)
    plan = Plan(
        nodes=12, devices=4, spare=2, seconds=7200, seed=3, sessions=False,
        faults=(logged(5, cause, nodes=(5,)), logged(6, others, nodes=(6, 7, 8))),
    )  # fmt: skip
    fleet = archive(tmp_path / "archive", plan)
    found = Archive(tmp_path / "archive")
    packs = load([pack_file(name) for name in pack_names()]).rules
    [line] = final_lines(found, Backtest(found, packs))
    assert (line.level, line.node) == ("alert", fleet.names[5])
    assert line.rule.startswith("nvidia.xid.nvlink")


def test_a_job_that_its_user_ended_is_no_warning(case: Case, tmp_path: Path) -> None:
    others = events_of(tmp_path, case(OTHERS))
    plan = Plan(
        nodes=12, devices=4, spare=2, seconds=7200, seed=3, sessions=False,
        faults=(logged(6, others, nodes=(6, 7, 8)),),
    )  # fmt: skip
    archive(tmp_path / "archive", plan)
    found = Archive(tmp_path / "archive")
    packs = load([pack_file(name) for name in pack_names()]).rules
    lines = list(final_lines(found, Backtest(found, packs)))
    assert [(line.level, line.rule) for line in lines] == [("info", "nvidia.xid.follow_up")]
