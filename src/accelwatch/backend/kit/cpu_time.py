"""How busy processors were between two readings of the time that they spent in each mode (proc(5))."""

_IDLE = ("idle", "iowait")
# Processor time is counted in ticks of 10 ms: over less the share would be mostly rounding.
_MIN_SPAN_S = 0.2

# Seconds by mode, of all processors together.
CpuTimes = dict[str, float]


def busy_ratio(before: CpuTimes, now: CpuTimes) -> tuple[float | None, CpuTimes]:
    """The busy share, and with which reading to compare the next one.

    None when too little time has passed, or the counters have restarted. A mode that went back, as
    iowait may, counts as no time.
    """
    passed = {mode: max(0.0, seconds - before.get(mode, 0.0)) for mode, seconds in now.items()}
    total = sum(passed.values())
    if total < _MIN_SPAN_S:
        is_reset = sum(now.values()) < sum(before.values())
        return None, now if is_reset else before
    return 1.0 - sum(passed.get(mode, 0.0) for mode in _IDLE) / total, now
