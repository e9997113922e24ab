"""Each event code that we recognise is in a rule of the packs, with a severity that fits."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.engine import Engine
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.testing.world import Member, World
from accelwatch.alerting.rules.timing import Transition
from accelwatch.expr.needs import Needs
from accelwatch.schema.event import FATAL, Category, ErrorEvent
from accelwatch.system.kernel.amdgpu_ras import BLOCKS
from accelwatch.system.kernel.xid import XIDS
from accelwatch_kernel_log.interpreter import PATTERNS
from accelwatch_kernel_log.patterns.nvgpu import NVGPU
from accelwatch_kernel_log.patterns.nvidia import sxid_category, xid_category
from accelwatch_kernel_log.patterns.pattern import find
from backends.kernel_log.accelerator_messages import ACCELERATORS
from backends.kernel_log.machine_messages import MACHINE

PAGE = Path(__file__).parents[3] / "docs/backends/kernel-log.md"
# Codes that no rule needs, and why.
ONLY_INFORMATIVE = {
    "amdgpu_process": "names the process of the fault before it, which has its own rule",
    "amdgpu_reset_succeeded": "the end of a reset, whose begin has its own rule",
    "drm_initialized": "the driver has brought a device up that was given up, whose rules clear by it",
    "drm_wedged_recovered": "the driver has mended it; what was wrong has its own rule",
    "habanalabs_reset_succeeded": "the end of a reset, whose begin has its own rule",
    "hygpu_process": "as amdgpu_process",
    "hygpu_reset_succeeded": "as amdgpu_reset_succeeded",
    "kernel_log_overrun": "says that records were lost, nothing of what they said",
    "nfs_ok": "the server answers again; its silence has its own rule",
    "xid_162": "takes Xid 163 back, whose rule clears by it",
    "xid_154": "the text of the message says which action is asked for; a bare code asks for none",
}
# Codes of a program's fault that ring when they stand alone, and why.
ALONE = {
    "xid_43": "cleans up after another Xid: without one, something is wrong",
    "xid_45": "as xid_43",
}
# Whose device an event is about, by the first word of its code; all others are the node's own.
VENDORS = {
    "xid": ("nvidia", "gpu"),
    "nvidia": ("nvidia", "gpu"),
    "nvgpu": ("nvidia", "gpu"),
    "amdgpu": ("amd", "gpu"),
    "ras": ("amd", "gpu"),
    "hygpu": ("hygon", "gpu"),
    "xe": ("intel", "gpu"),
    "i915": ("intel", "gpu"),
    "habanalabs": ("habana", "npu"),
    "neuron": ("neuron", "npu"),
    "tenstorrent": ("tenstorrent", "npu"),
    "amdxdna": ("accel", "npu"),
    "intel": ("intel", "npu"),
    "qaic": ("qualcomm", "npu"),
    "driver": ("amd", "gpu"),
}
# Codes of a driver whose message names no device.
OF_THE_NODE = {"nvidia_peermem_invalid_context"}
EVERY_S = 30.0
# So often it is reported: some codes count from the thirtieth on.
TIMES = 40


@cache
def packs() -> dict[str, Rule]:
    return dict(load([pack_file(name) for name in pack_names()]).rules)


def on_the_page() -> Iterator[tuple[str, Category]]:
    """Codes of the page with each category that it names; families of numbers are left out."""
    rows = re.findall(r"^\| (`.*?`) \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for codes, meaning in rows:
        categories = [one for one in Category if re.search(rf"\b{one.value}\b", meaning)]
        for code in re.findall(r"`([a-z0-9_]+)`", codes):
            for category in categories:
                yield code, category


def in_the_tables() -> Iterator[tuple[str, Category]]:
    """Codes of the patterns, of the composed messages, and of the families of numbers and blocks."""
    for pattern in PATTERNS:
        if pattern.decide is None:
            yield pattern.code, pattern.category
    for _, code, category, _ in (*ACCELERATORS, *MACHINE):
        yield code, category
    for xid in (*XIDS, 999):
        yield f"xid_{xid}", xid_category(xid)
    for sxid in (10004, 11004, 12020, 12028, 20034, 22003):
        yield f"sxid_{sxid}", sxid_category(sxid, fatal=False)
    for block in (*BLOCKS, "other"):
        for category in (Category.MEMORY_FATAL, Category.MEMORY_CONTAINED):
            yield f"ras_{block}", category
    for number in range(100):
        text = f"nvgpu: 17000000.gpu f:1  [ERR]  error notifier set to {number} for ch 5"
        match = find(text, NVGPU)
        assert match is not None
        yield match.code, match.category


@cache
def catalogue() -> tuple[tuple[str, Category], ...]:
    found = {*on_the_page(), *in_the_tables()}
    found |= {
        (code.replace("amdgpu_", "hygpu_"), category)
        for code, category in found
        if code.startswith("amdgpu_")
    }
    return tuple(sorted(found))


@cache
def fired() -> dict[tuple[str, Category], set[str]]:
    """The rules that fire for each event, which is reported on a node of its own, again and again."""
    members: list[Member] = []
    for at, (code, _) in enumerate(catalogue()):
        vendor, kind = VENDORS.get(code.partition("_")[0], ("", ""))
        if vendor:
            fields: dict[str, str | float] = {"vendor": vendor, "kind": kind, "state": "ok"}
            members.append(Member(node=f"n{at}", device="d0", fields=fields))
        members.append(Member(node=f"n{at}"))
    needs = Needs()
    for rule in packs().values():
        for expression in rule.expressions:
            needs |= expression.needs
    world = World(needs, EVERY_S, members)
    engine = world.engine = Engine(packs())
    rules: dict[tuple[str, Category], set[str]] = {one: set() for one in catalogue()}
    for tick in range(TIMES):
        now = 1e6 + tick * EVERY_S
        world.tick(now)
        for at, one in enumerate(catalogue()):
            world.add_event(f"n{at}", _event(one, now))
        for change in engine.step(world.subjects(), now, now):
            if change.transition is Transition.FIRED and change.entity.node:
                rules[catalogue()[int(change.entity.node[1:])]].add(change.rule)
    return rules


def _event(one: tuple[str, Category], now: float) -> ErrorEvent:
    code, category = one
    named = code.partition("_")[0] in VENDORS and code not in OF_THE_NODE
    device = "d0" if named else ""
    text = f"{code} at {now:g}"
    return ErrorEvent(
        code=code, category=category, time=now, text=text, source="kernel_log", device_id=device
    )


@pytest.mark.parametrize("one", catalogue(), ids=lambda one: f"{one[0]}-{one[1].value}")
def test_a_recognised_code_is_in_a_rule(one: tuple[str, Category]) -> None:
    code, category = one
    rules = fired()[one]
    assert bool(rules) != (code in ONLY_INFORMATIVE), (code, rules)
    loud = {id_ for id_ in rules if packs()[id_].severity is not Severity.INFO}
    if category is Category.APPLICATION:
        assert not loud or code in ALONE, f"{code}: a program's own fault rings for {loud}"
    elif category in FATAL and code not in ONLY_INFORMATIVE:
        assert loud, f"{code}: a fatal event is only told by {rules}"


def test_what_is_exempt_is_recognised() -> None:
    codes = {code for code, _ in catalogue()}
    assert codes >= ONLY_INFORMATIVE.keys() | ALONE.keys()


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("tenstorrent_unresponsive", Severity.CRITICAL),
        ("tenstorrent_off_the_bus", Severity.CRITICAL),
        ("tenstorrent_init_failed", Severity.CRITICAL),
        ("tenstorrent_noc_hung", Severity.CRITICAL),
        ("tenstorrent_arc_timeout", Severity.WARNING),
        ("habanalabs_reset_failed", Severity.CRITICAL),
        ("habanalabs_hbm_critical", Severity.CRITICAL),
        ("habanalabs_submission_timeout", Severity.WARNING),
        ("habanalabs_overheating", Severity.WARNING),
        ("habanalabs_razwi", Severity.INFO),
        ("neuron_reset_failed", Severity.CRITICAL),
        ("neuron_hbm_uncorrectable_error", Severity.CRITICAL),
        ("neuron_hbm_repairable_error", Severity.WARNING),
        ("neuron_execution_timeout", Severity.WARNING),
        ("amdxdna_init_failed", Severity.CRITICAL),
        ("amdxdna_firmware_dead", Severity.CRITICAL),
        ("amdxdna_firmware_incompatible", Severity.WARNING),
        ("nvgpu_error_13", Severity.INFO),
        ("nvgpu_error_43", Severity.INFO),
        ("nvgpu_error_37", Severity.WARNING),
    ],
)
def test_how_bad_a_code_is(code: str, severity: Severity) -> None:
    (rules,) = (found for one, found in fired().items() if one[0] == code)
    worst = min((packs()[id_].severity for id_ in rules), key=("critical", "warning", "info").index)
    assert worst is severity, rules
