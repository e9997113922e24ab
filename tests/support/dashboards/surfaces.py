"""How each surface shows the devices of every golden document: check, why, incidents, row, Fleet."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from accelwatch.agent.rules.rule_evaluator import NodeRuleEvaluator
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import RuleFiles
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Transition
from accelwatch.base.clock import ManualClock
from accelwatch.cli.check.check_sources import of_snapshot
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.picture.why.answer import answer
from accelwatch.fleet.picture.why.observed_state import observed_machine
from accelwatch.fleet.picture.why.subject import subject_of
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.table.state_codes import HEALTHS, STATES
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.json.wire import decode
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.schema.status.device_status import effective_state
from support.fleet.manual_fleet import THRESHOLDS
from support.machines import composed as machines
from support.machines.samples import FIXTURES

GOLDEN = FIXTURES / "golden"
STEP_S = 20.0
# Longer than any rule on a state asks for.
TICKS = 24
NOTHING = "-"


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One device as the surfaces show it; `-` where one has nothing to say."""

    machine: str
    vendor: str
    device: str
    reason: str
    # The word of its row.
    row: str
    check: str
    why: str
    # How severe its worst incident on an agent is.
    agent: str
    # The rule of that incident.
    rule: str
    hub: str
    # The word of its row in Fleet.
    fleet: str


def documents() -> dict[str, Snapshot]:
    """Every golden document by the name of its machine."""
    paths = sorted(GOLDEN.glob("*/snapshot.json"))
    return {path.parent.name: decode(path.read_bytes()) for path in paths}


def shown() -> tuple[Shown, ...]:
    """Every device of every document."""
    found = documents()
    files = RuleFiles([pack_file(name) for name in pack_names()], tests=False)
    rules = files.rules()
    hub, words = on_a_hub(found)
    rows: list[Shown] = []
    for machine, snapshot in found.items():
        agent = on_an_agent(snapshot, NodeRuleEvaluator(rules.rules, STEP_S))
        report = of_snapshot(snapshot, files, "a test", listened=False)
        observed = observed_machine(snapshot)
        for view in snapshot.devices:
            name = view.device.name
            checked = [one.severity for one in report.findings if one.device == name]
            silent = any(one.startswith(f"{name}: ") for one in report.blind)
            worst = worst_of(agent.get(view.device.id, ()), rules.rules)
            rows.append(
                Shown(
                    machine=machine,
                    vendor=view.device.vendor,
                    device=name,
                    reason="; ".join(view.health_reasons) or NOTHING,
                    row=effective_state(view.state, view.health),
                    check="unknown" if silent and not checked else _worst(checked),
                    why="wrong" if answer(observed, subject_of(observed, name)).wrong else NOTHING,
                    agent=NOTHING if worst is None else rules.rules[worst].severity.value,
                    rule=worst or NOTHING,
                    hub=_worst(hub.get((machine, view.device.id), ())),
                    fleet=words.get((machine, view.device.id), NOTHING),
                )
            )
    return tuple(rows)


def _worst(severities: Iterable[Severity]) -> str:
    loud = [one for one in severities if one is not Severity.INFO]
    return max(loud, key=lambda one: one.weight).value if loud else NOTHING


def worst_of(ids: Iterable[str], rules: Mapping[str, Rule]) -> str | None:
    """The most severe of some rules, without those that only inform."""
    loud = [id_ for id_ in ids if rules[id_].severity is not Severity.INFO]
    return max(loud, key=lambda id_: rules[id_].severity.weight) if loud else None


def on_an_agent(snapshot: Snapshot, judge: NodeRuleEvaluator) -> dict[str, list[str]]:
    """The rules that fire on each device while the document stays as it is."""
    fired: dict[str, list[str]] = {}
    for tick in range(TICKS):
        at = tick * STEP_S
        now = msgspec.structs.replace(snapshot, time=snapshot.time + at)
        for change in judge.tick(now, at):
            if change.transition is Transition.FIRED and change.entity.device:
                fired.setdefault(change.entity.device, []).append(change.rule)
    return fired


def on_a_hub(
    found: Mapping[str, Snapshot],
) -> tuple[dict[tuple[str, str], list[Severity]], dict[tuple[str, str], str]]:
    """Severities of incidents, and the word in Fleet, by machine and device."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_on_a_hub(found, Path(folder)))


async def _on_a_hub(
    found: Mapping[str, Snapshot], folder: Path
) -> tuple[dict[tuple[str, str], list[Severity]], dict[tuple[str, str], str]]:
    clock = ManualClock(wall=machines.NOW)
    fleet = Fleet(clock, THRESHOLDS, None)
    targets = list(targets_of(list(found)))
    fleet.set_targets(targets)
    keys = {one.node: one.key for one in targets}
    runner = RuleRunner(FleetEvaluator(fleet), RuleSettings(packs=tuple(pack_names())), folder)
    await runner.start()
    for _ in range(TICKS):
        for machine, snapshot in found.items():
            fleet.read(keys[machine], _accelerators(snapshot), clock.wall(), STEP_S)
        await runner.tick()
        clock.advance(STEP_S)
    table = fleet.table
    words = {
        (machine, view.device.id): effective_state(
            STATES[table.state[row]], HEALTHS[table.health[row]]
        )
        for machine, snapshot in found.items()
        for view in snapshot.devices
        if (row := table.rows.get((machine, view.device.id))) is not None
    }
    severities: dict[tuple[str, str], list[Severity]] = {}
    for one in runner.open:
        severities.setdefault((one.entity.node, one.entity.device), []).append(one.severity)
    await runner.stop()
    return severities, words


def _accelerators(snapshot: Snapshot) -> tuple[DeviceView, ...]:
    return tuple(view for view in snapshot.devices if view.device.kind is not DeviceKind.HOST)
