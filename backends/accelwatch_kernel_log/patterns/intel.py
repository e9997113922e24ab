"""Messages of i915 and xe, and the wedged notice that every DRM driver shares (drm_drv.c)."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, Verdict, row

_DRM = r"(?:\[drm(?::\w+(?: \[\w+\])?)?\] )?(?:\*ERROR\* )?"
# Intel's out-of-tree releases name the part of a GT in brackets.
_I915 = rf"(?:i915 (?:{BDF}: )?)?{_DRM}(?:GT\d+(?:: | \[[A-Z ]{{1,32}}\] ))?"
_XE = rf"xe {BDF}: {_DRM}(?:Tile\d+: )?(?:GT\d+: )?"
_ANY = rf"(?P<driver>\w+) {BDF}: (?:\w+: )?{_DRM}"

# drm_dev_register() prints it for every DRM driver once a device can be used.
INITIALIZED = "drm_initialized"
# After these "only a rebind may clear the failure" (xe_device.c); a rebind ends with INITIALIZED.
ABANDONED = frozenset(
    {
        *("drm_wedged", "xe_wedged", "xe_reset_failed", "xe_survivability"),
        *("i915_wedged", "i915_reset_failed"),
    }
)


def _hardware(groups: dict[str, str]) -> Verdict:
    fatal = groups["severity"] in ("FATAL", "uncorrectable")
    return "xe_hardware_error", Category.MEMORY_FATAL if fatal else Category.MEMORY_CONTAINED


INTEL: tuple[Pattern, ...] = (
    row(
        "i915_init_failed",
        Category.FIRMWARE,
        rf"i915 {BDF}: {_DRM}(?:Device initialization failed|GT\d+: Enabling uc failed) "
        r"\((?P<error>-\d+)\)",
    ),
    row(
        "xe_page_fault",
        Category.APPLICATION,
        rf"{_XE}(?:Fault response: Unsuccessful|Engine memory (?:cat|CAT) error)",
    ),
    row(
        "xe_guc_timeout",
        Category.FIRMWARE,
        rf"{_XE}(?:Timed out wait for G2H, fence|Schedule disable failed to respond"
        r"|TLB invalidation fence timeout)",
    ),
    row(
        "xe_forcewake_timeout",
        Category.HANG,
        rf"{_XE}Force wake domain (?P<domain>\d+) failed to ack (?P<action>wake|sleep)",
    ),
    row("xe_wedged", Category.HANG, rf"{_XE}CRITICAL: Xe has declared device \S+ as wedged"),
    row("drm_wedged", Category.HANG, rf"{_ANY}device wedged, needs recovery"),
    row(
        "drm_wedged_recovered",
        Category.OTHER,
        rf"{_ANY}device wedged, but (?:recovered|no recovery)",
    ),
    row(
        INITIALIZED,
        Category.OTHER,
        r"(?:[\w-]+ [\w:.]+: )?\[drm\] Initialized (?P<driver>[\w-]+) \d+\.\d+\.\d+(?: \d{8})?"
        rf" for {BDF} on minor \d",
    ),
    row(
        "xe_engine_reset_failed",
        Category.HANG,
        rf"{_XE}GuC engine reset request failed on (?P<engine>\d+:\d+)",
    ),
    row(
        "xe_job_timeout",
        Category.HANG,
        rf"{_XE}Timedout job: seqno=[^\n]*?(?: in (?P<process>[^\n\[]+?) \[(?P<pid>\d+)\])?\s*$",
    ),
    row(
        "xe_engine_reset",
        Category.APPLICATION,
        rf"{_XE}Engine reset: engine_class=(?P<engine>\w+)",
    ),
    row(
        "xe_hardware_error",
        Category.MEMORY_CONTAINED,
        rf"{_XE}\[Hardware Error\]: Tile\d+ reported (?P<severity>FATAL|NONFATAL|CORRECTABLE) error",
        decide=_hardware,
    ),
    row(
        "xe_hardware_error",
        Category.MEMORY_CONTAINED,
        rf"{_XE}\[Hardware Error\]: (?:TILE\d+ reported )?(?P<part>[^\n]{{1,64}}?) "
        r"(?P<severity>(?:un)?correctable)-errors(?: detected| reported|, bit)",
        decide=_hardware,
    ),
    row("xe_reset_failed", Category.HANG, rf"{_XE}reset failed \((?P<status>-?\w+)\)"),
    row(
        "xe_survivability",
        Category.FIRMWARE,
        rf"{_XE}(?:(?:[Ii]n |Runtime )?[Ss]urvivability [Mm]ode(?! (?:is )?not supported)"
        r"|Survivability Boot Status ?: Critical Failure)",
    ),
    row(
        "i915_gpu_hang",
        Category.HANG,
        rf"{_I915}(?:GPU HANG: ecode (?P<ecode>[^,\s]+)"
        r"(?:, in (?P<process>[^\n]+?) \[(?P<pid>\d+)\])?|stuck on (?P<ring>\w+) ring)",
    ),
    row(
        "i915_context_reset",
        Category.APPLICATION,
        rf"{_I915}(?P<process>[^\n]+?)\[(?P<pid>\d+)\] context reset due to GPU hang",
    ),
    row(
        "i915_gpu_reset",
        Category.HANG,
        rf"(?:{_I915}|drm/i915: )Resetting chip (?:for|after) (?P<reason>[^\n]+)",
    ),
    row(
        "i915_engine_reset",
        Category.APPLICATION,
        rf"{_I915}Resetting (?P<engine>(?:rcs|bcs|vcs|vecs|ccs)\d+) for (?P<reason>[^\n]+)",
    ),
    row(
        "i915_reset_failed",
        Category.HANG,
        rf"{_I915}(?:(?P<engine>\w+) reset request timed out|GUC: Engine reset failed on "
        r"|Failed to reset GuC, ret = (?P<error>-\d+))",
    ),
    row(
        "i915_guc_timeout",
        Category.FIRMWARE,
        rf"{_I915}(?:(?:GUC: )?CT: No response for request|(?:TLB|tlb) invalidation response timed out)",
    ),
    row(
        "i915_forcewake_timeout",
        Category.HANG,
        rf"{_I915}(?P<domain>\w+): timed out waiting for forcewake ack",
    ),
    row(
        "i915_wedged",
        Category.HANG,
        rf"{_I915}(?:GPU recovery (?:failed|timed out)|Failed to reset (?:chip|GPU)"
        r"|[^\n]*(?:declared|declaring it|GPU is) wedged)",
    ),
)
