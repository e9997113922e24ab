"""Messages of nvgpu, the driver of a Jetson's integrated GPU. Wordings and numbers: its source."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import Pattern, Verdict, row

# The platform device, then the function that says it.
_PREFIX = r"nvgpu: [0-9a-f]{6,16}\.(?:gpu|gm20b|gp10b|gv11b|ga10b)\s+\w+:\d+\s+\[ERR\]\s+"
# A Tegra has one.
_GPU = "tegra0"
# Time-out, methods, exception, semaphore, notify, MMU, PBDMA, reset that its owner requests, push
# buffer (nvgpu-ioctl.h).
_OF_A_CHANNEL = frozenset({8, 12, 13, 24, 25, 31, 32, 43, 80})


def _notifier(groups: dict[str, str]) -> Verdict:
    groups["subject"] = _GPU
    number = int(groups["notifier"])
    category = Category.APPLICATION if number in _OF_A_CHANNEL else Category.OTHER
    return f"nvgpu_error_{number}", category


NVGPU: tuple[Pattern, ...] = (
    row(
        "nvgpu_error",
        Category.OTHER,
        rf"{_PREFIX}error notifier set to (?P<notifier>\d{{1,3}}) for ch (?P<channel>\d{{1,6}})"
        r"(?: owned by (?P<process>\S{1,64}))?",
        decide=_notifier,
    ),
)
