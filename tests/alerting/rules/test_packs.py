"""The rules that are shipped: whole, harmless, and silent where nothing is wrong."""

import importlib.util
import json
import re
from functools import cache
from pathlib import Path

import pytest

from accelwatch.alerting.rules.document import Mode, Severity
from accelwatch.alerting.rules.loading.pack_files import PACKS, pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Rule
from accelwatch.expr.event_history import EventHistory
from accelwatch.expr.needs import Needs, window_bytes
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import Snapshot
from accelwatch.system.kernel.xid import XIDS
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.jobs import Job, Stall, StallKind
from accelwatch_lab.simulator.models import MODELS
from accelwatch_lab.simulator.nodes import FleetSize, build
from accelwatch_lab.simulator.scenario import Scenario, everyday
from support.machines.fixture_machines import MACHINES
from support.machines.staged_machines import FixtureMachine
from support.machines.staging import two_ticks
from support.rules.pack_worlds import played

DOCS = Path(__file__).parents[3] / "docs"
XID_TABLE = json.loads((PACKS / "nvidia-xid.json").read_text(encoding="utf-8"))["rows"]
BY_CLASS = {
    "application": "nvidia.xid.application",
    "contained": "nvidia.xid.contained",
    "contained_error": "nvidia.xid.contained_error",
    "follow_up": "nvidia.xid.follow_up",
    "info": "nvidia.xid.notice",
    "lost": "nvidia.lost",
    "memory": "nvidia.xid.memory",
    "nvlink": "nvidia.xid.nvlink",
    "reboot": "nvidia.xid.reboot",
    "reset": "nvidia.xid.reset",
    "service": "nvidia.xid.service",
    "software": "nvidia.xid.software",
    "unused": "nvidia.xid.undocumented",
    "watch": "nvidia.xid.watch",
}
# Xids that have a rule of their own within their class.
BY_CODE = {
    94: "nvidia.xid.contained_error",
    162: "nvidia.xid.power_smoothing",
    163: "nvidia.xid.power_smoothing",
}
BY_ACTION = {"none": 0, "restart": 1, "reset": 2, "reboot": 3, "replace": 4}
MOST_BYTES = 256 << 20
# Of a fleet whose windows must fit.
DEVICES = 8000


@cache
def packs() -> dict[str, Rule]:
    return dict(load([pack_file(name) for name in pack_names()]).rules)


def whole_needs() -> Needs:
    needs = Needs()
    for rule in packs().values():
        for expression in rule.expressions:
            needs |= expression.needs
    return needs


def test_each_rule_observes_and_says_what_to_do_and_who_says_so() -> None:
    for rule in packs().values():
        assert rule.mode is Mode.OBSERVE, rule.id
        assert rule.what_to_do, rule.id
        assert rule.source, rule.id
        assert len(rule.title) <= 100, rule.id
        assert "\n" not in rule.what_to_do, rule.id


def test_each_rule_is_of_its_pack() -> None:
    for rule in packs().values():
        assert rule.id.startswith(f"{rule.origin.file.stem}."), rule.id


def test_each_rule_has_the_kinds_of_tests() -> None:
    for rule in packs().values():
        names = [test.name for test in rule.tests]
        kinds = ["fires", "does not fire at idle", "does not fire on missing data"]
        if rule.when.needs.events and rule.id not in HELD_BACK:
            kinds += ["does not fire on an old event", "does not fire on an event that user space"]
        if rule.id in UNTRUSTED:
            kinds.remove("does not fire on an event that user space")
        for kind in kinds:
            assert any(name.startswith(kind) for name in names), f"{rule.id}: {kind}"


# Rules that no event makes true: what a file server says only holds them back.
HELD_BACK = {"storage.blocked", "storage.pressure"}
# Rules that ask for what user space may have written; they tell it and no more.
UNTRUSTED = {"kernel.untrusted"}


def test_what_user_space_may_have_written_is_never_more_than_reported() -> None:
    reading = {
        rule.id
        for rule in packs().values()
        if any(need.pattern.untrusted for one in rule.expressions for need in one.needs.events)
    }
    assert reading == UNTRUSTED & packs().keys()
    assert all(packs()[id_].severity is Severity.INFO for id_ in reading)


def test_windows_of_all_packs_fit() -> None:
    windows = whole_needs().windows
    # The rest is for the rules of a site.
    assert 0 < window_bytes(windows, DEVICES, DEVICES // 8) <= 0.75 * MOST_BYTES
    assert window_bytes(windows, DEVICES, DEVICES) <= MOST_BYTES


def test_rules_that_are_listed_exist() -> None:
    assert whole_needs().rules <= packs().keys()


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("build_packs", DOCS / "build_packs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (DOCS / "packs.md").read_text(encoding="utf-8")
    assert page == module.build(), "run: python docs/build_packs.py"
    assert all(f"| `{id_}` |" in page for id_ in packs())


# Xids


def rules_of(code: int, category: Category = Category.OTHER) -> set[str]:
    """The rules that a single Xid makes true by themselves."""
    event = ErrorEvent(
        code=f"xid_{code}", category=category, time=100.0, text="NVRM: Xid", source="nvml"
    )
    found = set()
    for rule in packs().values():
        history = EventHistory(need for one in (rule.when,) for need in one.needs.events)
        history.add(event, 100.0)
        if any(history.last("", need.pattern) == 100.0 for need in rule.when.needs.events):
            found.add(rule.id)
    return found - {
        "nvidia.lost_again",
        "nvidia.xid.again",
        "nvidia.xid.follow_up",
        "nvidia.xid.repeated",
    }


def test_the_table_has_every_xid_that_is_described() -> None:
    codes = [row["xid"] for row in XID_TABLE]
    assert len(codes) == len(set(codes))
    assert set(XIDS) <= set(codes)
    assert {row["class"] for row in XID_TABLE} == {*BY_CLASS, "recovery"}


@pytest.mark.parametrize("row", XID_TABLE, ids=lambda row: str(row["xid"]))
def test_each_xid_is_of_the_rule_of_its_class(row: dict[str, str | int | None]) -> None:
    code, kind = int(row["xid"] or 0), str(row["class"])
    if kind == "recovery":
        # The text of the message says which action; a bare code asks for none.
        assert rules_of(code) == set()
    elif kind == "follow_up":
        assert rules_of(code) == set()
        assert re.search(rf"\b{code}\b", packs()[BY_CLASS[kind]].when.text)
    elif kind == "nvlink":
        assert rules_of(code, Category.LINK_FATAL) == {BY_CLASS[kind]}
    else:
        assert rules_of(code) == {BY_CODE.get(code, BY_CLASS[kind])}


def test_a_code_of_a_newer_driver_is_seen() -> None:
    assert rules_of(999) == {"nvidia.xid.undocumented"}


def test_no_xid_is_taken_more_lightly_than_nvidia_takes_it() -> None:
    wanted = {"RESET_GPU": "reset", "RESTART_BM": "reboot", "RESTART_VM": "reboot"}
    for row in XID_TABLE:
        action = wanted.get(str(row["immediate"]))
        if action is not None and row["class"] != "unused":
            rule = packs()[BY_CODE.get(row["xid"], BY_CLASS[row["class"]])]
            assert BY_ACTION[rule.advice.value] >= BY_ACTION[action], row
            assert rule.severity is Severity.CRITICAL, row


def test_rules_of_what_goes_together_are_one_incident() -> None:
    together = [
        "nvidia.lost",
        "nvidia.missing",
        "nvidia.recovery.reboot",
        "nvidia.recovery.reset",
        "nvidia.xid.memory",
        "nvidia.memory.uncorrected",
        "nvidia.memory.repair_failed",
    ]
    assert {packs()[id_].family for id_ in together} == {"nvidia.gpu"}
    assert packs()["nvidia.heat.hardware"].family != "nvidia.gpu"


# Where nothing is wrong


def above_info(fired: dict[str, set[str]]) -> dict[str, set[str]]:
    return {id_: who for id_, who in fired.items() if packs()[id_].severity is not Severity.INFO}


EVERY_S = 30.0
HEALTHY = [machine for machine in MACHINES if machine.healthy and not machine.reports_fault]
TELLING = [machine for machine in MACHINES if machine.reports_fault]


@pytest.mark.parametrize("machine", HEALTHY, ids=lambda machine: machine.name)
def test_nothing_fires_on_a_healthy_machine(machine: FixtureMachine, tmp_path: Path) -> None:
    with machine.stage(tmp_path) as stage:
        shot = two_ticks(stage)
    # What was read stands still for half an hour.
    still: list[tuple[float, list[Snapshot]]] = [(EVERY_S * at, [shot]) for at in range(70)]
    assert above_info(played(packs(), still, EVERY_S)) == {}


@pytest.mark.parametrize("machine", TELLING, ids=lambda machine: machine.name)
def test_something_fires_where_all_can_be_read_and_reports_a_fault(
    machine: FixtureMachine, tmp_path: Path
) -> None:
    with machine.stage(tmp_path) as stage:
        shot = two_ticks(stage)
    still: list[tuple[float, list[Snapshot]]] = [(EVERY_S * at, [shot]) for at in range(70)]
    assert above_info(played(packs(), still, EVERY_S))


@pytest.mark.parametrize("vendor", MODELS)
def test_nothing_fires_on_a_healthy_simulated_fleet(vendor: str) -> None:
    nodes = build(FleetSize(nodes=5, devices=3, vendor=vendor))
    scenario = everyday(tuple(node.name for node in nodes))
    fleet = Fleet(nodes, scenario, seed=7, start=1e6, interval_s=EVERY_S)
    shots = []
    for at in range(int(3600 / EVERY_S)):
        now = fleet.instant_at(at * EVERY_S)
        shots.append((1e6 + at * EVERY_S, [fleet.snapshot(node, now) for node in nodes]))
    assert above_info(played(packs(), shots, EVERY_S)) == {}


def test_a_job_that_hangs_is_one_incident_of_the_job() -> None:
    nodes = build(FleetSize(nodes=4, devices=4, vendor="nvidia"))
    job = Job(
        name="training",
        id="4711",
        nodes=tuple(node.name for node in nodes),
        user="ada",
        stalls=(Stall(at_s=1800.0, lasts_s=900.0, kind=StallKind.COLLECTIVE),),
    )
    fleet = Fleet(nodes, Scenario(jobs=(job,)), seed=7, start=1e6, interval_s=EVERY_S)
    shots = []
    for at in range(90):
        now = fleet.instant_at(at * EVERY_S)
        shots.append((1e6 + at * EVERY_S, [fleet.snapshot(node, now) for node in nodes]))
    assert above_info(played(packs(), shots, EVERY_S)) == {"jobs.silent_hang": {"job 4711"}}


def test_something_fires_on_a_machine_with_faults(tmp_path: Path) -> None:
    (machine,) = (one for one in MACHINES if one.name == "nvidia-mixed-faults")
    with machine.stage(tmp_path) as stage:
        shot = two_ticks(stage)
    fired = played(packs(), [(EVERY_S * at, [shot]) for at in range(40)], EVERY_S)
    assert {"nvidia.lost", "nvidia.heat.software"} <= above_info(fired).keys()
