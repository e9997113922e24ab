"""NVLinks of each GPU, from `nvidia-smi nvlink`: `-s` prints their state, `-e` their error counters."""

import re
import threading
from collections.abc import Callable, Mapping

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.schema.reading import Collected, Link, Number
from accelwatch.system.processes.command import CommandResult
from accelwatch_nvidia.quantities import links
from accelwatch_nvidia.smi import text as smi_text

_STATE = re.compile(r"\s*Link\s+(\d{1,3}):\s+(?:(<inactive>)|\d+(?:\.\d+)?\s+GB/s)\s*", re.ASCII)
_ERRORS = re.compile(r"\s*Link\s+(\d{1,3}):\s+([A-Za-z][\w ]{1,40}):\s+(\d{1,19})\s*", re.ASCII)
_ALL_DOWN = re.compile(r".*\ball links are inactive\b.*", re.IGNORECASE)
# Counters up to NVLink 4, then those of NVLink 5, which it prints beside traffic and error rates.
_KINDS = {
    "replay errors": "replay",
    "recovery errors": "recovery",
    "crc errors": "crc",
    "malformed packet errors": "malformed_packet",
    "buffer overrun errors": "buffer_overrun",
    "rx errors": "receive",
    "rx remote errors": "receive_remote",
    "rx general errors": "receive_general",
    "local link integrity errors": "link_integrity",
    "tx discards": "transmit_discard",
    "link recovery failed events": "recovery_failed",
    "effective errors": "effective",
    "symbol errors": "symbol",
}
# Stands for every GPU instead of one's PCI id.
_ALL = ""


class GpuLinks(msgspec.Struct):
    """Links of one GPU by number: whether each is up, and its counters by kind."""

    states: dict[int, bool] = {}
    errors: dict[str, dict[int, int]] = {}
    # nvidia-smi said so in one sentence instead of a list: how many there are is unknown.
    all_down: bool = False


def parse_states(text: str) -> dict[str, GpuLinks]:
    """Links by the GPU's uuid, from `nvlink -s`; a link of which it says anything else is left out."""
    by_uuid: dict[str, GpuLinks] = {}
    uuid = ""
    for line in text.splitlines():
        if match := smi_text.GPU_LINE.search(line):
            uuid = match[1]
        elif uuid and (match := _STATE.fullmatch(line)):
            by_uuid.setdefault(uuid, GpuLinks()).states[int(match[1])] = match[2] is None
        elif uuid and _ALL_DOWN.fullmatch(line):
            by_uuid.setdefault(uuid, GpuLinks()).all_down = True
    return by_uuid


def add_errors(text: str, by_uuid: Mapping[str, GpuLinks]) -> None:
    """Add the counters that `nvlink -e` prints to the links of the GPUs that are known."""
    at: GpuLinks | None = None
    for line in text.splitlines():
        if match := smi_text.GPU_LINE.search(line):
            at = by_uuid.get(match[1])
        elif at is not None and (match := _ERRORS.fullmatch(line)):
            kind = _KINDS.get(" ".join(match[2].lower().split()))
            if kind:
                at.errors.setdefault(kind, {})[int(match[1])] = int(match[3])


def record_links(gpu: GpuLinks, collected: Collected, groups: frozenset[str]) -> tuple[Link, ...]:
    """Record a GPU's links as they are through NVML; themselves when group `links` is on."""
    if not gpu.states:
        if gpu.all_down:
            collected.put("interconnect_links", 0, "nvlink", "up")
            collected.miss("interconnect_links", Absence.UNSUPPORTED, "nvlink", "down")
        return ()
    in_detail = "links" in groups
    links.record_count(collected, gpu.states)
    for kind, counts in gpu.errors.items():
        by_link: dict[int, Number | Absence] = {
            number: counts.get(number, Absence.UNSUPPORTED) for number in gpu.states
        }
        links.record_errors(collected, kind, by_link, in_detail=in_detail)
    return links.record_each(collected, gpu.states, {}) if in_detail else ()


class LinkReader:
    """Runs `nvidia-smi nvlink` for all GPUs at once, or for one; stops where it has nothing to report.

    That is where it prints no link and none that is inactive, and where it did not end: the readings
    that came without it must not wait for it each time.
    """

    def __init__(self, run: Callable[..., CommandResult], clock: Clock) -> None:
        self._run = run
        self._clock = clock
        # One run of the command at a time; readers of the other devices wait and share its output.
        self._lock = threading.Lock()
        # The last output of the command by GPU, read again when a slow turn finds it older than
        # `fresh_s`.
        self._by_uuid: dict[str, GpuLinks] = {}
        self._read_at: dict[str, float] = {}
        self._over: Absence | None = None

    def read(
        self, uuid: str | None, bus: str | None, *, slow: bool, fresh_s: float
    ) -> GpuLinks | Absence:
        """Links of a GPU, or why there are none; `bus` names the only GPU that may be queried.

        Queried again when `slow` and older than `fresh_s`, so that the GPUs of one tick share a run.
        """
        with self._lock:
            key, now = bus or _ALL, self._clock.monotonic()
            before = self._read_at.get(key)
            due = before is None or (slow and now - before >= fresh_s)
            if due and self._over is None:
                self._query(bus)
                self._read_at[key] = self._clock.monotonic()
            cached = self._by_uuid.get(uuid or "")
            return cached or self._over or Absence.UNSUPPORTED

    def _query(self, bus: str | None) -> None:
        only = ("-i", bus) if bus else ()
        result = self._run("nvlink", "-s", *only)
        text = result.output.decode("utf-8", "replace")
        by_uuid = parse_states(text)
        if not by_uuid:
            if result.failure == "timeout":
                self._over = Absence.TIMEOUT
            elif bus is None and "inactive" not in text.lower():
                self._over = Absence.UNSUPPORTED
            return
        add_errors(self._run("nvlink", "-e", *only).output.decode("utf-8", "replace"), by_uuid)
        self._by_uuid |= by_uuid
