"""Why clocks are held down: the firmware's status bits and residency counters as our reasons.

Bits: `SMU_THROTTLER_*_BIT` in Linux drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h. Temperature limits
that firmware keeps by lowering clocks are `thermal_software`; hot voltage regulators are
`thermal_hardware`; PROCHOT, a pin that the board pulls, is `power_brake`.
"""

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_amd.gpu_metrics.table import Table

_POWER, _BRAKE = "power", "power_brake"
_SOFT, _HARD, _MEMORY = "thermal_software", "thermal_hardware", "memory_thermal"

# Reason and the bits of indep_throttle_status that mean it.
_BITS: tuple[tuple[str, tuple[int, ...]], ...] = (
    (_POWER, (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 56)),
    (_BRAKE, (46, 47)),
    (_SOFT, (32, 33, 35, 36, 37, 42, 43)),
    (_HARD, (38, 39, 44, 45)),
    (_MEMORY, (34, 40, 41)),
    ("reliability", (57,)),
)

# throttle_status of tables 1.4 and 1.5: `THROTTLER_*_BIT` in smu_v13_0_6_pmfw.h.
_MI300_BITS: tuple[tuple[str, int], ...] = (
    (_BRAKE, 0),
    (_POWER, 1),
    (_SOFT, 2),
    (_HARD, 3),
    (_MEMORY, 4),
)

_RESIDENCIES: tuple[tuple[str, str], ...] = (
    (_BRAKE, "prochot_residency_acc"),
    (_POWER, "ppt_residency_acc"),
    (_SOFT, "socket_thm_residency_acc"),
    (_HARD, "vr_thm_residency_acc"),
    (_MEMORY, "hbm_thm_residency_acc"),
)
# Counters of table 3.0; their unit is not documented, so that they only show whether one moves.
_APU_RESIDENCIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (_BRAKE, ("throttle_residency_prochot",)),
    (
        _POWER,
        ("throttle_residency_spl", "throttle_residency_fppt", "throttle_residency_sppt"),
    ),
    (
        _SOFT,
        (
            "throttle_residency_thm_core",
            "throttle_residency_thm_gfx",
            "throttle_residency_thm_soc",
        ),
    ),
)

_WRAP = 1 << 32
# After a longer silence the counters may have wrapped unseen.
_MAX_GAP_S = 3600.0


def status_reasons(table: Table) -> dict[str, bool] | None:
    """Reason to whether it is active now, from status bits; None for a table without usable bits.

    Bits that only the firmware of one chip can explain are reported together as `other`.
    """
    status = table.numbers.get("indep_throttle_status")
    if status is not None:
        reasons = {name: any(status >> bit & 1 for bit in bits) for name, bits in _BITS}
        recognised = sum(1 << bit for _, bits in _BITS for bit in bits)
        return {**reasons, "other": bool(status & ~recognised)}
    status = table.numbers.get("throttle_status")
    if status is None:
        return None
    if table.revision in ((1, 4), (1, 5)):
        reasons = {name: bool(status >> bit & 1) for name, bit in _MI300_BITS}
        return {**reasons, "other": bool(status >> len(_MI300_BITS))}
    return {"other": bool(status)}


def residencies(table: Table) -> tuple[int | None, dict[str, int]]:
    """(accumulation counter, reason to residency): cumulative 32-bit counters of one tick length.

    The counter is None where the table has residencies without one.
    """
    by_reason = {
        reason: table.numbers[name] for reason, name in _RESIDENCIES if name in table.numbers
    }
    if by_reason:
        return table.numbers.get("accumulation_counter"), by_reason
    for reason, names in _APU_RESIDENCIES:
        if all(name in table.numbers for name in names):
            by_reason[reason] = sum(table.numbers[name] for name in names) % _WRAP
    return None, by_reason


class ResidencyMeter:
    """Turns residency counters of successive tables into seconds, for one device.

    Between two tables the share of ticks under a reason times the time that passed is the time under
    that reason. There is no sum before the second table.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._active: dict[str, bool] = {}
        self._last: tuple[float, int | None, dict[str, int]] | None = None

    def update(self, counter: int | None, by_reason: dict[str, int], now: float) -> None:
        """Add one table's counters; `now` is monotonic seconds."""
        last, self._last = self._last, (now, counter, by_reason)
        self._active = {}
        if last is None or not 0 < now - last[0] <= _MAX_GAP_S:
            return
        ticks = None if counter is None or last[1] is None else (counter - last[1]) % _WRAP
        for reason in filter(last[2].__contains__, by_reason):
            moved = (by_reason[reason] - last[2][reason]) % _WRAP
            if moved >= _WRAP // 2 or (ticks is not None and moved > ticks):
                continue
            self._active[reason] = moved > 0
            if ticks is not None:
                share = moved / ticks if ticks else 0.0
                self._seconds[reason] = self._seconds.get(reason, 0.0) + (now - last[0]) * share

    def record(self, out: Collected) -> None:
        """Record the sums, and which reasons were active since the table before."""
        for reason, seconds in self._seconds.items():
            out.put("throttle_seconds_total", seconds, reason)
        if self._last is None:
            return
        for reason in self._last[2]:
            if reason in self._active:
                out.put("throttle_active", int(self._active[reason]), reason)
            else:
                out.miss("throttle_active", Absence.NOT_COLLECTED, reason)
            if self._last[1] is not None:
                out.miss("throttle_seconds_total", Absence.NOT_COLLECTED, reason)


def read_throttle(table: Table, meter: ResidencyMeter, now: float, out: Collected) -> None:
    """Record the reasons of one table by its bits and, where it counts residencies, its counters."""
    for reason, active in (status_reasons(table) or {}).items():
        out.put("throttle_active", int(active), reason)
    counter, by_reason = residencies(table)
    if by_reason:
        meter.update(counter, by_reason, now)
        meter.record(out)
