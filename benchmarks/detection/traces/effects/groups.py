"""What befalls several nodes by one cause, and what is seen of a fault before it (design 5.3)."""

import numpy as np

from traces.devices import NVLINK, Devices
from traces.hosts import RDMA, RDMA_ERRORS
from traces.placed import Placed, Precursor
from traces.sessions import STALL, TRAIN
from traces.span import Span
from traces.truth import RATE

# A standard deviation of the peers: half a degree of noise and rounding; reads as hosts.py has.
DEVIATION = {"temperature_celsius.gpu": 0.5, "collector_duration_seconds.nvidia": 0.02}


def congestion(span: Span, fault: Placed) -> None:
    """5.3: CNP and out-of-sequence packets up on many nodes, rates down."""
    for node in fault.nodes:
        during = span.during(node, fault.onset, fault.until)
        span.host[f"{RDMA_ERRORS}.np_cnp_sent"][node, during] = 20_000.0
        span.host[f"{RDMA_ERRORS}.packet_seq_err"][node, during] = 5.0
    if fault.session is not None:
        by = fault.magnitude or 0.0
        for node in fault.session.nodes:
            less = span.during(node, fault.onset, fault.until) & (span.phase[node] == TRAIN)
            span.device["power_watts"][node, :, less] *= 1.0 - by / 3.0
            for way in ("transmit", "receive"):
                span.host[f"{RDMA}.{way}"][node, less] *= 1.0 - by
                span.device[f"{NVLINK}.{way}"][node, :, less] *= 1.0 - by


def storage(span: Span, fault: Placed) -> None:
    """The phase has the queue and the long save; writers wait, some mounts say so."""
    for node in fault.nodes:
        during = span.during(node, fault.onset, fault.until) & (span.phase[node] == STALL)
        span.host["host_pressure_ratio.io.full"][node, during] = 0.9
        span.host["host_blocked_processes"][node, during] = 12.0
        if fault.variant < 0.5:
            text = "nfs: server fs1 not responding, still trying"
            span.log(fault.onset + 60.0 + node % 7, node, None, "nfs_not_responding", text)
            span.log(fault.until, node, None, "nfs_ok", "nfs: server fs1 OK")


def cooling(span: Span, fault: Placed) -> None:
    """A row gets hotter within half an hour and cools down again; what is too hot slows down."""
    for node in fault.nodes:
        at = span.seconds[node]
        up = np.clip((at - fault.onset) / 1800.0, 0, 1) * np.clip((fault.until - at) / 1800.0, 0, 1)
        for name in ("temperature_celsius.gpu", "temperature_celsius.memory"):
            values = span.device[name][node]
            values += (np.round(up * (fault.magnitude or 0.0)) * (up > 0)).astype(np.float32)
        hot = (span.device["temperature_celsius.gpu"][node] >= 87.0) & (up > 0)
        span.device["throttle_active.thermal_hardware"][node][hot] = 1.0


GROUP_EFFECTS = {"congestion": congestion, "storage": storage, "cooling": cooling}


def precede(
    span: Span, fault: Placed, sign: Precursor, devices: Devices, rng: np.random.Generator
) -> None:
    """What is seen of a fault before its onset."""
    nodes = fault.nodes or (fault.node,)
    for node in nodes:
        during = span.during(node, sign.start, fault.onset)
        if not during.any():
            continue
        ramp = (span.seconds[node, during] - sign.start) / max(fault.onset - sign.start, 1.0)
        if sign.unit != RATE:
            more = sign.strength * DEVIATION[sign.signal]
            if sign.signal in span.host:
                span.host[sign.signal][node, during] += more
            else:  # heat rises all the time
                values = span.device[sign.signal][node, fault.device]
                values[during] = np.round(values[during] + more * ramp)
        elif f"rate:{sign.signal}" in span.host:
            span.host[f"rate:{sign.signal}"][node, during] *= sign.strength
        elif f"rate:{sign.signal}" in span.device:
            a_second = sign.strength * devices.usual[sign.signal]
            counts = rng.poisson(a_second * span.step, int(during.sum())) / span.step
            span.device[f"rate:{sign.signal}"][node, fault.device, during] += counts


def steps(fault: Placed) -> list[float]:
    """When rows are remapped before memory fails: more and more, 3 to 8 a day at last (5.3)."""
    sign = fault.precursor
    if sign is None or not sign.signal.startswith("memory_remapped_rows"):
        return []
    lasts = fault.onset - sign.start
    count = max(1, round(sign.strength / 4.0 * lasts / 86_400.0))
    return [sign.start + lasts * float(np.sqrt((at + 0.5) / count)) for at in range(count)]
