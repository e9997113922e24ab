"""What a node is set to and which libraries it has, read now and then: neither changes often."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.schema.reading import Collected
from accelwatch_host import kernel_settings, libraries

# Between two reads.
EVERY_S = 60.0


class SlowReads:
    """The last read, until it is too old."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._read_at: float | None = None
        self._last = Collected("")

    def collect(self, root: Path, out: Collected) -> None:
        """Record the last values; read them again when they are old."""
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= EVERY_S:
            self._read_at, self._last = now, Collected("")
            collect_settings(root, self._last)
            collect_libraries(root, self._last)
        out.values.update(self._last.values)
        out.absent.update(self._last.absent)


def collect_settings(root: Path, out: Collected) -> None:
    """Settings of the kernel; one without a value is absent with an empty label for it."""
    _record_info(out, "host_setting_info", dict(kernel_settings.settings(root)))


def collect_libraries(root: Path, out: Collected) -> None:
    """Versions of communication libraries."""
    _record_info(out, "host_library_info", dict(libraries.versions(root)))


def _record_info(out: Collected, key: str, values: dict[str, str | Absence]) -> None:
    for name, value in values.items():
        if isinstance(value, Absence):
            out.miss(key, value, name, "")
        else:
            out.put(key, 1, name, value)
