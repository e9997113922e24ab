"""Classes of faults: how often, what they befall, and whether their job goes on (design 5.3)."""

from typing import NamedTuple

from traces.truth import DEVICE, GROUP, JOB, NODE

# How a class is told from health: a fact (nothing, a word, a count), or a number among its peers.
HARD, NUMERIC, HIDDEN = "hard", "numeric", "hidden"


class FaultClass(NamedTuple):
    """One class."""

    name: str
    # Published count per trace of 55 days (5.3), which is a weight among its like.
    weight: float
    scope: str
    kind: str
    # Share that have a precursor, and how long that lasts, minutes.
    precursor: float = 0.0
    precursor_min: tuple[float, float] = (0.0, 0.0)
    # Only what trains shows it.
    needs_training: bool = False
    # Shares after which the job hangs until its time-out, and after which it dies at once.
    hangs: float = 0.0
    dies: float = 0.0
    # Share after which the node is taken out for repair.
    repaired: float = 0.0
    xid: str | None = None


# Shares and lengths of precursors: 5.3. Half of the jobs hang, half die: 5.3 has both, no share.
XID_CLASSES = (
    FaultClass(
        "nvlink", 5, DEVICE, HARD, 0.4, (2, 120), hangs=0.5, dies=0.5, repaired=0.85, xid="149"
    ),
    FaultClass("ecc_94", 2, DEVICE, HARD, 0.5, (10, 60), dies=1.0, repaired=0.25, xid="94"),
    FaultClass(
        "off_bus", 2, DEVICE, HARD, 0.25, (5, 240), hangs=0.5, dies=0.5, repaired=1.0, xid="79"
    ),
    FaultClass("gsp", 1, DEVICE, HARD, 0.5, (1, 5), hangs=0.7, dies=0.3, repaired=0.5, xid="119"),
)
OTHER_CLASSES = (
    FaultClass(
        "gpu_lost", 0.5, DEVICE, HARD, 1.0, (1440, 14400), hangs=0.5, dies=0.5, repaired=1.0
    ),
    FaultClass("unreachable", 2, NODE, HARD, hangs=1.0, repaired=1.0),
    FaultClass("slow_clock", 2.5, DEVICE, NUMERIC, 0.5, (120, 480), needs_training=True),
    FaultClass("slow_link", 1.5, NODE, NUMERIC, needs_training=True),
    FaultClass("hang", 2.5, JOB, HARD, needs_training=True, hangs=1.0, repaired=0.3),
    FaultClass("sdc", 0.3, DEVICE, HIDDEN),
    # 5.3: fan, PSU, cable, PCIe width, nvidia-smi time-out, RNIC: 1-5 together.
    FaultClass("fan", 0.7, NODE, NUMERIC, needs_training=True, repaired=0.5),
    FaultClass("psu", 0.4, NODE, HARD, needs_training=True, repaired=0.5),
    FaultClass("cable", 0.6, NODE, HARD, repaired=0.5),
    FaultClass("pcie_width", 0.4, DEVICE, HARD, needs_training=True, repaired=0.5),
    FaultClass("slow_reads", 0.3, NODE, NUMERIC),
    FaultClass("rnic", 0.5, NODE, HARD, hangs=1.0, repaired=1.0),
)
# Beside the 17 to 21: several nodes by one cause, and programs with mistakes (5.3; cooling: 5.1).
GROUP_CLASSES = (
    FaultClass("congestion", 3, GROUP, NUMERIC, needs_training=True),
    FaultClass("storage", 2.5, GROUP, NUMERIC, 1.0, (5, 20), needs_training=True),
    FaultClass("cooling", 1.5, GROUP, NUMERIC, needs_training=True),
)
APP = FaultClass("app", 12, JOB, HIDDEN, needs_training=True, xid="31")
CLASSES = {one.name: one for one in (*XID_CLASSES, *OTHER_CLASSES, *GROUP_CLASSES, APP)}
