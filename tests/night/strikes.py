"""What each kind of fault does to the cluster, and how it ends where no reboot ends it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category
from night.machines import Ailment, links_down, slow
from night.scenario import Fault, Kind

if TYPE_CHECKING:
    from night.play import Night

# From the fault until the job has ended by itself.
DIES_S = 6.0
BLINK_S = 7.0
AGENT_DIES_S, AGENT_BACK_S = 6.0, 90.0
HANGS_S = 26.0
SILENT_S, POWER_S = 900.0, 1500.0
RACK_S = 480.0
FLAPS, FLAP_ON_S, FLAP_OFF_S = 8, 25.0, 420.0
SLOW_S = 2400.0
_JOB_DIES = frozenset({Kind.LOST_JOB_DIES, Kind.ECC, Kind.TEST_FAILS})


def strike(night: "Night", fault: Fault) -> None:
    """Let it happen now, somewhere that fits."""
    nodes = _targets(night, fault)
    if not nodes:  # nothing runs, or nothing is free: a moment later something does
        night.after(30.0, lambda: strike(night, fault))
        return
    fault.at, fault.nodes = night.now, nodes
    night.observer.on_start(fault)
    node = nodes[0]
    _hit(night, fault, node)
    if fault.kind in _JOB_DIES:
        night.after(DIES_S, lambda: _die(night, fault))


def _targets(night: "Night", fault: Fault) -> tuple[str, ...]:
    match fault.kind:
        case Kind.DRAINED_BY_ADMIN | Kind.HELD:
            return fault.nodes  # chosen by the admin before
        case Kind.SPARE:
            idle_first = sorted(night.world.spares, key=lambda name: bool(night.world.spares[name]))
            return tuple(name for name in idle_first if night.is_untouched(name))[:1]
        case Kind.RACK:
            rack = night.rng.choice(sorted({one.rack for one in night.machines.all.values()}))
            of_rack = [one.name for one in night.machines.all.values() if one.rack == rack]
            return tuple(name for name in of_rack if night.is_untouched(name))[:4]
        case _:
            return _under_a_job(night, fault)


def _under_a_job(night: "Night", fault: Fault) -> tuple[str, ...]:
    wanted = fault.kind is Kind.INTERACTIVE
    jobs = [id_ for id_ in night.running() if night.world.jobs[id_].interactive is wanted]
    if not jobs:
        return ()
    fault.job = night.rng.choice(jobs)
    return (night.rng.choice(night.world.jobs[fault.job].nodes),)


def _die(night: "Night", fault: Fault) -> None:
    job = night.world.jobs[fault.job]
    if fault.nodes[0] in job.nodes:
        night.world.end_job(job, failed=True)


def _hit(night: "Night", fault: Fault, node: str) -> None:
    how = _HOW.get(fault.kind)
    if how is None:
        night.machines.ail(node, Ailment(state=DeviceState.LOST))
    else:
        how(night, fault, node)


def _memory_error(night: "Night", fault: Fault, node: str) -> None:
    night.machines.ail(node, Ailment())
    night.world.nodes[node].test_fails = fault.kind is Kind.TEST_FAILS
    fleet = None if night.hub is None else night.hub.fleet
    night.machines.event(node, "xid_48", Category.MEMORY_FATAL, fleet)


def _link(night: "Night", _: Fault, node: str) -> None:
    night.machines.ail(node, links_down())


def _hung(night: "Night", _: Fault, node: str) -> None:
    night.machines.ail(node, Ailment(state=DeviceState.UNRESPONSIVE))


def _rack(night: "Night", fault: Fault, _: str) -> None:
    for name in fault.nodes:
        night.machines.ail(name, links_down())
    night.after(RACK_S, lambda: _rack_is_well(night, fault))


def _slow(night: "Night", _: Fault, node: str) -> None:
    night.machines.ail(node, slow())
    night.after(SLOW_S, lambda: night.machines.cure(node))


def _blink(night: "Night", _: Fault, node: str) -> None:
    night.machines.ail(node, Ailment(state=DeviceState.LOST))
    night.after(BLINK_S, lambda: night.machines.cure(node))


def _flapping(night: "Night", fault: Fault, node: str) -> None:
    fault.lasts_until = night.now + FLAPS * (FLAP_ON_S + FLAP_OFF_S)
    _flap(night, node, FLAPS)


def _reboots(boots: int | None) -> "How":
    def how(night: "Night", _: Fault, node: str) -> None:
        night.machines.ail(node, Ailment(state=DeviceState.LOST, boots=boots))

    return how


def _agent_dies(night: "Night", _: Fault, node: str) -> None:
    night.machines.ail(node, Ailment(state=DeviceState.LOST))
    night.after(AGENT_DIES_S, lambda: _agent(night, node, works=False))
    night.after(AGENT_BACK_S, lambda: _agent(night, node, works=True))


def _hangs_after(night: "Night", _: Fault, node: str) -> None:
    night.machines.ail(node, Ailment(state=DeviceState.LOST))
    night.after(HANGS_S, lambda: night.world.hang(node))


def _rack_is_well(night: "Night", fault: Fault) -> None:
    for name in fault.nodes:
        night.machines.cure(name)
    night.admin.looks_at_storm()


def _agent(night: "Night", node: str, *, works: bool) -> None:
    night.machines.all[node].agent = works


def _flap(night: "Night", node: str, left: int) -> None:
    night.machines.ail(node, Ailment(state=DeviceState.LOST, boots=None))
    night.after(FLAP_ON_S, lambda: night.machines.cure(node))
    if left > 1:
        night.after(FLAP_ON_S + FLAP_OFF_S, lambda: _flap(night, node, left - 1))


def _falls_silent(night: "Night", fault: Fault, node: str) -> None:
    if fault.kind is Kind.POWER:
        night.world.nodes[node].powered = False
        night.world.nodes[node].alive.clear()
    night.world.hang(node)
    back_s = POWER_S if fault.kind is Kind.POWER else SILENT_S

    def back() -> None:
        if night.world.nodes[node].booting_until is None:
            night.world.comes_back(node)

    night.after(back_s, back)


How = Callable[["Night", Fault, str], None]
# By kind; of the others a device is lost, and one reboot cures it.
_HOW: Mapping[Kind, How] = {
    Kind.ECC: _memory_error,
    Kind.TEST_FAILS: _memory_error,
    Kind.LINK: _link,
    Kind.HUNG: _hung,
    Kind.RACK: _rack,
    Kind.LOW: _slow,
    Kind.BLINK: _blink,
    Kind.FLAPPING: _flapping,
    Kind.SILENT: _falls_silent,
    Kind.POWER: _falls_silent,
    Kind.REBOOT_TWICE: _reboots(2),
    Kind.FOR_EVER: _reboots(None),
    Kind.AGENT_DIES: _agent_dies,
    Kind.HANGS_AFTER: _hangs_after,
}
