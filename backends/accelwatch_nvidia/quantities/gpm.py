"""GPU performance monitoring (GPM, Hopper and later): unit activity between two samples.

Concurrent GPM sampling has brought a kernel driver down, so one lock is held over it; who cannot have
the lock at once goes without for this tick.
"""

import threading
import time
from typing import Any

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch_nvidia import mapping
from accelwatch_nvidia.mapping import Outcome
from accelwatch_nvidia.nvml.library import Handle
from accelwatch_nvidia.nvml.nvml import DeviceCalls

# Two samples must be at least 100 ms apart (nvml.h, nvmlGpmMetricsGet).
MIN_INTERVAL_S = 0.1
_LOCK_WAIT_S = 0.25
GRAPHICS_UTIL = 1

# (nvmlGpmMetricId_t, series, opt-in group); all are percentages.
METRICS: tuple[tuple[int, Series, str], ...] = (
    (2, ("compute_active_ratio",), ""),
    (3, ("compute_occupancy_ratio",), ""),
    (5, ("matrix_active_ratio",), ""),
    (10, ("memory_bandwidth_utilization_ratio",), ""),
    (4, ("pipe_active_ratio", "integer"), "pipes"),
    (6, ("pipe_active_ratio", "tensor_dfma"), "pipes"),
    (7, ("pipe_active_ratio", "tensor_hmma"), "pipes"),
    (8, ("pipe_active_ratio", "tensor_dmma"), "pipes"),
    (9, ("pipe_active_ratio", "tensor_imma"), "pipes"),
    (11, ("pipe_active_ratio", "fp64"), "pipes"),
    (12, ("pipe_active_ratio", "fp32"), "pipes"),
    (13, ("pipe_active_ratio", "fp16"), "pipes"),
)

_PARTITION_METRICS = (*METRICS, (GRAPHICS_UTIL, ("utilization_ratio",), ""))


class GpmSampler:
    """Samples of one device or GPU instance; keeps the sample before the last."""

    def __init__(self, lock: threading.Lock, gpu_instance: int | None = None) -> None:
        self._lock = lock
        self._instance = gpu_instance
        self._metrics = METRICS if gpu_instance is None else _PARTITION_METRICS
        self._samples: list[Handle] = []
        self._sampled = 0
        self._sampled_at = 0.0
        self._supported: bool | None = None
        self._request: Any = None

    def read(
        self, calls: DeviceCalls, groups: frozenset[str], *, one_shot: bool
    ) -> dict[Series, Outcome]:
        """Outcome per series.

        A single reading takes both samples now, 100 ms apart, when the group `pipes` is on, and none
        otherwise.
        """
        requested = [
            (number, series) for number, series, group in self._metrics if group in groups | {""}
        ]
        why = self._locked(calls, requested, sample=not one_shot or "pipes" in groups)
        if why is Absence.NOT_COLLECTED and one_shot and "pipes" in groups:
            time.sleep(MIN_INTERVAL_S)
            why = self._locked(calls, requested, sample=True)
        return (
            dict.fromkeys((series for _, series in requested), why)
            if isinstance(why, Absence)
            else why
        )

    def _locked(
        self, calls: DeviceCalls, requested: list[tuple[int, Series]], *, sample: bool
    ) -> dict[Series, Outcome] | Absence:
        if self._supported is False:
            return Absence.UNSUPPORTED
        if not self._lock.acquire(timeout=_LOCK_WAIT_S):
            return Absence.TIMEOUT
        try:
            why = self._unsupported(calls)
            if why is None:
                why = self._sample(calls) if sample else Absence.NOT_COLLECTED
            return self._evaluate(calls, requested) if why is None else why
        finally:
            self._lock.release()

    def _unsupported(self, calls: DeviceCalls) -> Absence | None:
        if self._supported is None:
            answer = calls.query("nvmlGpmQueryDeviceSupport")
            if isinstance(answer, Absence):
                self._supported = False if answer is Absence.UNSUPPORTED else None
                return answer
            self._supported = bool(answer.isSupportedDevice)
        return None if self._supported else Absence.UNSUPPORTED

    def _sample(self, calls: DeviceCalls) -> Absence | None:
        """Read the next sample; None when there is a pair, else why there is none."""
        now = time.monotonic()
        if self._sampled and now - self._sampled_at < MIN_INTERVAL_S:
            return None if self._sampled > 1 else Absence.NOT_COLLECTED
        try:
            while len(self._samples) < 2:
                self._samples.append(calls.library.nvmlGpmSampleAlloc())
        except calls.library.NVMLError:
            return Absence.ERROR
        older, newer = self._samples
        if self._instance is None:
            answer = calls.fill("nvmlGpmSampleGet", older)
        else:
            answer = calls.fill("nvmlGpmMigSampleGet", self._instance, older)
        if answer is not None:
            self._sampled = 0
            self._supported = False if answer is Absence.UNSUPPORTED else self._supported
            return answer
        self._samples = [newer, older]
        self._sampled += 1
        self._sampled_at = now
        return None if self._sampled > 1 else Absence.NOT_COLLECTED

    def _evaluate(
        self, calls: DeviceCalls, requested: list[tuple[int, Series]]
    ) -> dict[Series, Outcome]:
        request = self._request = self._request or calls.library.c_nvmlGpmMetricsGet_t()
        request.version = 1
        request.numMetrics = len(requested)
        request.sample1, request.sample2 = self._samples
        for position, (number, _) in enumerate(requested):
            request.metrics[position].metricId = number
        try:
            calls.library.nvmlGpmMetricsGet(request)
        except calls.library.NVMLError:
            return {series: Absence.ERROR for _, series in requested}
        outcomes: dict[Series, Outcome] = {}
        for position, (_, series) in enumerate(requested):
            metric = request.metrics[position]
            failed = metric.nvmlReturn != 0
            outcomes[series] = Absence.UNSUPPORTED if failed else mapping.percent(metric.value)
        return outcomes

    def restart(self, *, library_restarted: bool) -> None:
        """Begin with a first sample again; samples of a library that was shut down are void."""
        self._sampled = 0
        self._supported = None
        if library_restarted:
            self._samples = []

    def close(self, calls: DeviceCalls) -> None:
        """Free the samples."""
        samples, self._samples, self._sampled = self._samples, [], 0
        for sample in samples:
            try:
                calls.library.nvmlGpmSampleFree(sample)
            except calls.library.NVMLError:
                return
