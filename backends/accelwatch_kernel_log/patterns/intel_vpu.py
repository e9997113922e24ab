"""Messages of intel_vpu, the driver of Intel's NPUs. Wordings: drivers/accel/ivpu, Linux 6.3 to 7.0."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, row

# The function that says it comes first.
_NPU = rf"intel_vpu {BDF}: (?:\[drm\] (?:\*ERROR\* )?)?(?:ivpu_\w+\(\): )?"

INTEL_VPU: tuple[Pattern, ...] = (
    row(
        "intel_vpu_init_failed",
        Category.FIRMWARE,
        rf"{_NPU}Failed to (?:initialize (?:VPU|NPU) device|boot(?: the firmware)?): (?P<error>-\d+)",
    ),
    row(
        "intel_vpu_resume_failed",
        Category.FIRMWARE,
        rf"{_NPU}Failed to (?:resume(?: the FW| NPU| VPU)?|set RESUME state): (?P<error>-\d+)",
    ),
    row(
        "intel_vpu_hang",
        Category.HANG,
        rf"{_NPU}(?:TDR detected, timeout (?P<milliseconds>\d+) ms|Job timeout detected, heartbeat)",
    ),
    row(
        "intel_vpu_recovery",
        Category.HANG,
        rf"{_NPU}(?:Recovery triggered by (?P<reason>[^\n]+)|Recovering the (?:NPU|VPU) \(reset #)",
    ),
    row(
        "intel_vpu_mmu_fault",
        Category.APPLICATION,
        rf"{_NPU}MMU EVTQ: \w+ \((?P<cause>[^)\n]+)\) SSID: (?P<context>\d+)"
        r"[^\n]*?(?:in addr: (?P<address>0x[0-9a-f]+))",
    ),
)
