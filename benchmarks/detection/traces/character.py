"""What differs from trace to trace: each constant is drawn from a range, so none can be learnt.

Rows name design/detection.md; `assumption` is what no source has.
"""

from typing import NamedTuple

import numpy as np

from accelwatch.archive.history.files import MAX_GROUP_ROWS
from healthy_fleets.folder import SPAN_S
from healthy_fleets.nuisances import Rates

Array = np.ndarray
_SPANS_S = (SPAN_S, 3600, 1800, 900, 300)


class Settings(NamedTuple):
    """How large a trace is."""

    seed: int = 0
    nodes: int = 63
    devices: int = 8
    days: float = 55.0
    interval_s: float = 30.0
    # Times the published rate of faults; 1 for every figure that is quoted.
    fault_rate: float = 1.0
    # Times that rate of what befalls several nodes by one cause: a few days have too few to learn from.
    group_rate: float = 1.0

    @property
    def seconds(self) -> float:
        """The whole span."""
        return self.days * 86_400.0

    @property
    def span_s(self) -> int:
        """What a row group covers: three hours, less of a fleet that has too many rows in them."""
        rows_a_second = self.nodes * self.devices / self.interval_s
        return next(
            (span for span in _SPANS_S if span * rows_a_second <= MAX_GROUP_ROWS), _SPANS_S[-1]
        )

    @property
    def spares(self) -> int:
        """Nodes that are not in the large job: 3 of 63 (5.1)."""
        return max(1, round(self.nodes / 21))


class Character(NamedTuple):
    """One fleet; watts, seconds and shares."""

    idle_w: float
    loaded_w: float
    train_w: float
    save_w: float
    # By stage of the pipeline: factors of power, and of tensor activity and NVLink.
    stage_power: Array
    stage_traffic: Array
    # Between devices that do the same, and of one device over time.
    device_sd: float
    noise_sd: float
    heat_sd: float
    noise_df: float
    # How far samples of a step of 5 to 20 s differ by where in it they fall.
    alias: float
    step_s: float
    diurnal: float
    diurnal_celsius: float
    # Healthy links: corrected errors of one device in an hour.
    link_errors_an_hour: float
    # Bytes a second of one device, and by RDMA of one node.
    nvlink: float
    pcie: float
    rdma: float
    block_bytes: float
    # Share of nodes with another model of device, and what that draws.
    other_model: float
    other_power: float
    xid_share: float
    lemon_share: float
    burstiness: float
    relapse: float
    blind_retry: float
    rates: Rates


def drawn(rng: np.random.Generator) -> Character:
    """One fleet of all that may be."""
    uniform = rng.uniform
    stages = int(rng.integers(2, 9))  # 5.1: 2-8 stages
    return Character(
        idle_w=uniform(95, 150),  # 5.2: 70 W of 700, scaled to 1,000 W
        loaded_w=uniform(160, 190),  # 5.2: 120 W of 700
        train_w=uniform(600, 900),  # 5.2: 418-689 W of 700
        save_w=uniform(240, 330),  # 5.2: 207 W of 700 for what hardly computes
        stage_power=uniform(0.85, 1.15, stages),  # 5.1
        stage_traffic=uniform(1.0, 2.0, stages),  # 5.1: up to 2x
        device_sd=uniform(0.004, 0.018),  # 5.2: 0.4-1.8 %
        noise_sd=uniform(0.002, 0.005),  # 5.2: 0.2-0.5 %
        heat_sd=uniform(5.0, 6.0),  # 5.2: 5-6 C between devices
        noise_df=uniform(3.0, 6.0),  # 4.4: Student-t 3-6
        alias=uniform(0.0, 0.005),  # assumption: at most as large as the noise
        step_s=uniform(5.0, 20.0),  # 5.1
        diurnal=uniform(0.01, 0.02),  # 5.1
        diurnal_celsius=uniform(1.0, 2.0),  # 5.1: +-2 C
        # Assumption: countable, so that ten times as many within ten minutes are a few errors.
        link_errors_an_hour=10 ** uniform(0.0, 1.0),
        nvlink=10 ** uniform(10.3, 11.2),  # 5.2: 10 to 400 % of the mean; assumption for its size
        pcie=10 ** uniform(8.5, 9.7),  # assumption
        rdma=10 ** uniform(9.7, 10.6),  # assumption: 10-80 % of 400 Gb/s
        block_bytes=float(1 << int(rng.integers(28, 34))),  # history.md 2.2: up to 8 GiB
        other_model=uniform(0.1, 0.4) * float(rng.random() < 0.3),  # 5.1: two models; share assumed
        other_power=uniform(0.7, 0.9),  # assumption
        xid_share=uniform(0.07, 0.60),  # 5.1: of GPU outages
        lemon_share=uniform(0.25, 0.65),  # 5.1: what the worst 5 % of nodes hold
        burstiness=uniform(1.0, 4.0),  # 5.1: variance/mean of starts a day
        relapse=uniform(0.16, 0.37),  # 0, row 7: within a day to within 28 days
        blind_retry=uniform(0.2, 0.9),  # 1.4: most attempts take the same nodes
        rates=Rates(
            missed=uniform(0.005, 0.05),  # 5.1
            maintenance=uniform(2.0, 6.0) / 7.0,  # 5.1: windows a week
            reboots=0.0,  # a node that nobody announced is class unreachable
            clock_sd_s=uniform(2.0, 12.0),  # 5.1: +-30 s
            link_errors=0.0,  # link_errors_an_hour has them
        ),
    )
