"""Messages of amdgpu, and of Hygon's fork of it: hygpu, hydcu or hycu by release, reported as hygpu.

Wordings: drivers/gpu/drm/amd/amdgpu.
"""

from accelwatch.schema.event import Category
from accelwatch.system.kernel.amdgpu_ras import believable, event_code
from accelwatch_kernel_log.patterns.pattern import BDF, FOLD_S, Pattern, Verdict, row

_DRM = r"(?:\[drm(?::[\w.]+(?: \[\w+\])?)?\] )?(?:\*ERROR\* )?"
# A management unit that hangs is polled, and complained of, for as long as it does.
_SMU_FOLD_S = 300.0
_NAMES = "amdgpu|hygpu|hydcu|hycu"
_DEVICE = rf"(?P<driver>{_NAMES}) {BDF}: (?:(?:{_NAMES}): )?{_DRM}"
_FUNCTION = r"\[drm:(?:amdgpu_\w+(?: \[amdgpu\])?|[\w.]+ \[amdgpu\])\] \*ERROR\* "
# Kernels before 6.10 print the function and no device in some errors; RAS lines may begin with an
# event number in braces.
_DRIVER = rf"(?:{_DEVICE}|{_FUNCTION})(?:\{{\d+\}} ?)?"


def _ras(groups: dict[str, str]) -> Verdict | None:
    count, severity = int(groups["count"]), groups.get("severity", "deferred")
    if count == 0 or not believable(count, corrected=severity == "correctable"):
        return None
    fatal = severity == "uncorrectable"
    category = Category.MEMORY_FATAL if fatal else Category.MEMORY_CONTAINED
    return event_code(groups["block"]), category


def _named(code: str, category: Category, regex: str, *, fold_s: float = FOLD_S) -> Pattern:
    def decide(groups: dict[str, str]) -> Verdict:
        driver = groups.get("driver", "amdgpu")
        return f"{'amdgpu' if driver == 'amdgpu' else 'hygpu'}_{code}", category

    return row(code, category, regex, fold_s=fold_s, decide=decide)


AMD: tuple[Pattern, ...] = (
    _named(
        "init_failed",
        Category.FIRMWARE,
        rf"{_DEVICE}(?:Fatal error during GPU init|amdgpu_device_ip_init failed"
        r"|hw_init of IP block <(?P<part>\w+)> failed (?P<error>-\d+))",
    ),
    _named(
        "resume_failed",
        Category.FIRMWARE,
        rf"{_DEVICE}(?:amdgpu_device_ip_resume failed \((?P<status>-\d+)\)"
        r"|resume of IP block <(?P<part>\w+)> failed (?P<error>-\d+))",
    ),
    _named(
        "ring_recovered",
        Category.APPLICATION,
        rf"{_DRIVER}ring (?P<ring>\S+) timeout, but soft recovered",
    ),
    _named("ring_timeout", Category.HANG, rf"{_DRIVER}ring (?P<ring>\S+) timeout"),
    _named(
        "process",
        Category.APPLICATION,
        rf"{_DRIVER}\s*(?:Process information: p|P)rocess (?P<process>[^\n]*?) pid (?P<pid>\d+)"
        r"(?: thread (?P<thread>[^\n]*?) pid (?P<tid>\d+))?\s*$",
    ),
    _named("ring_reset_failed", Category.HANG, rf"{_DRIVER}Ring (?P<ring>\S+) reset failed"),
    _named("ring_reset", Category.APPLICATION, rf"{_DRIVER}Ring (?P<ring>\S+) reset succe"),
    _named(
        "mes_timeout",
        Category.FIRMWARE,
        rf"{_DRIVER}MES(?:\(\d+\))? failed to respon(?:d to|se) msg",
    ),
    _named(
        "queue_stuck",
        Category.HANG,
        rf"(?:{_DRIVER}|amdgpu: )(?:qcm fence wait loop timeout|[^\n]{{0,80}}Queue preemption "
        r"(?:failed|time out))",
    ),
    _named(
        "smu_timeout",
        Category.FIRMWARE,
        rf"{_DRIVER}SMU: (?:I'm not done with your previous command|No response)",
        fold_s=_SMU_FOLD_S,
    ),
    _named(
        "ring_test_failed",
        Category.HANG,
        rf"{_DRIVER}(?:IB test failed on (?P<ring>\S+)|ib ring test failed) \((?P<status>-\d+)\)",
    ),
    _named("device_lost", Category.BUS, rf"{_DRIVER}device lost from bus"),
    _named(
        "over_temperature",
        Category.THERMAL,
        rf"{_DRIVER}ERROR: GPU (?:over temperature range|HW Critical Temperature Fault)",
    ),
    _named("reset_begin", Category.HANG, rf"{_DRIVER}GPU reset begin!"),
    _named("reset_succeeded", Category.OTHER, rf"{_DRIVER}GPU reset\((?P<count>\d+)\) succeeded"),
    _named(
        "reset_failed",
        Category.HANG,
        rf"{_DRIVER}GPU (?:reset end with ret = (?P<status>-\d+)|reset\(\d+\) failed|Recovery Failed)",
    ),
    _named(
        "page_fault",
        Category.APPLICATION,
        rf"(?:{_DRIVER})?\s*\[(?P<hub>(?:gfx|mm)hub[\w.]*)\] (?:(?:no-)?retry )?page fault \("
        r"(?:[^)\n]*? for process (?P<process>[^\n]*?) pid (?P<pid>\d+) thread)?",
    ),
    row(
        "ras",
        Category.MEMORY_CONTAINED,
        rf"{_DRIVER}(?:socket: (?P<socket>\d+),? die: (?P<die>\d+),? )?(?P<count>\d{{1,20}}) (?:new )?"
        r"(?:(?P<severity>uncorrectable|correctable|deferred) hardware errors?|poison consumption) "
        r"detected in (?:total in )?(?P<block>\w+) block",
        decide=_ras,
    ),
    row(
        "ras_fatal_interrupt",
        Category.MEMORY_FATAL,
        rf"{_DRIVER}uncorrectable hardware error\s?\((?P<event>\w+)\) detected",
    ),
    row(
        "ras_poison",
        Category.MEMORY_CONTAINED,
        rf"{_DRIVER}(?:RAS )?[Pp]oison is (?P<action>created|consumed)",
    ),
    _named(
        "bad_pages_threshold",
        Category.MEMORY_FATAL,
        rf"{_DRIVER}Saved bad pages (?P<pages>\d+) reaches threshold value (?P<threshold>\d+)",
    ),
    _named(
        "bad_pages_threshold",
        Category.MEMORY_FATAL,
        rf"{_DRIVER}RAS records:(?P<pages>\d+) exceed threshold:(?P<threshold>\d+)",
    ),
    _named(
        "bad_pages_near_threshold",
        Category.MEMORY_CONTAINED,
        rf"{_DRIVER}RAS records:(?P<pages>\d+) exceeds? 90% of threshold:(?P<threshold>\d+)",
    ),
)
