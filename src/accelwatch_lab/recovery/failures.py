"""Kinds of failure that end a job: how often, what cures them, and what shows them.

Counts are those of 63 nodes of 8 B200 over 55 days (arXiv:2605.09370v1): 17 hardware failures, of
which 10 had an Xid. Software adds as many again; this is an assumption, as is said where it is used.
"""

from enum import StrEnum

import msgspec


class Cure(StrEnum):
    """What lets the job run again."""

    # On the same nodes: nothing is broken, or it has healed itself.
    RETRY = "retry"
    # Without the node that is broken.
    SWAP = "swap"
    # On the same nodes, when a cause that many nodes share is over.
    WAIT = "wait"
    # On the same nodes, with older code, data or checkpoint.
    ROLL_BACK = "roll_back"


class Channel(StrEnum):
    """How a detector learns of it, which decides how long that lasts."""

    # A record in the log, a device or node that is gone.
    HARD = "hard"
    # A number that differs from that of the peers.
    NUMERIC = "numeric"
    # The job stands still.
    HANG = "hang"


class Recall(StrEnum):
    """Classes for which the share that a detector finds is measured."""

    XID = "xid"
    NO_XID = "no_xid"
    GROUP = "group"


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of failure."""

    name: str
    title: str
    # Failures of the published fleet.
    published: int
    cure: Cure
    channel: Channel
    recall: Recall
    # Share that a restart on the same nodes cures.
    restart_cures: float = 0.0
    # It ends by itself after so long, log-uniform between both, seconds.
    ends_after_s: tuple[float, float] | None = None
    # Its node is repaired, and needs a spare meanwhile.
    is_hardware: bool = True


# A comment per kind says where its numbers are from.
FAILURES = (
    # 145 and 149: 5 of 17; a restart on the same node fails in 80 to 90 %: the middle.
    Failure(
        name="nvlink",
        title="NVLink (Xid 145, 149)",
        published=5,
        cure=Cure.SWAP,
        channel=Channel.HARD,
        recall=Recall.XID,
        restart_cures=0.15,
    ),
    # 94: 2 of 17; the recovery class is a restart of the application, which works in 75 %.
    Failure(
        name="ecc",
        title="contained memory error (Xid 94)",
        published=2,
        cure=Cure.RETRY,
        channel=Channel.HARD,
        recall=Recall.XID,
        restart_cures=0.75,
    ),
    # 79: 2 of 17; the recovery class is a reboot of the node: no restart helps before.
    Failure(
        name="off_bus",
        title="GPU off the bus (Xid 79)",
        published=2,
        cure=Cure.SWAP,
        channel=Channel.HARD,
        recall=Recall.XID,
    ),
    # 119: 1 of 17; the recovery class is a reset of the GPU.
    Failure(
        name="gsp",
        title="GSP time-out (Xid 119)",
        published=1,
        cure=Cure.SWAP,
        channel=Channel.HARD,
        recall=Recall.XID,
    ),
    # 2 of 17, without an Xid: rebooted or replaced.
    Failure(
        name="unreachable",
        title="node unreachable",
        published=2,
        cure=Cure.SWAP,
        channel=Channel.HARD,
        recall=Recall.NO_XID,
    ),
    # 5 of 17, without an Xid; lasts "10 min to days": two days are the fewest that are days.
    Failure(
        name="slow",
        title="slow device or link",
        published=5,
        cure=Cure.SWAP,
        channel=Channel.NUMERIC,
        recall=Recall.NO_XID,
        ends_after_s=(600.0, 172_800.0),
    ),
    # Assumed: as many as of hardware, and transient, so that a restart works.
    Failure(
        name="software",
        title="software, transient",
        published=17,
        cure=Cure.RETRY,
        channel=Channel.HANG,
        recall=Recall.NO_XID,
        restart_cures=1.0,
        is_hardware=False,
    ),
    # Only a share of the ends by software that an operator states. ByteRobust: of what no eviction
    # resolves, a plain restart resolves 22.7 of 33.1, code that is rolled back 9.2, a replay 1.2.
    Failure(
        name="code",
        title="software, by code or data",
        published=0,
        cure=Cure.ROLL_BACK,
        channel=Channel.HANG,
        recall=Recall.NO_XID,
        is_hardware=False,
    ),
    # Storage or fabric. Published is one length, 24 min of congestion, and no count: only a fleet's own
    # incidents have any.
    Failure(
        name="group",
        title="storage or fabric, many nodes",
        published=0,
        cure=Cure.WAIT,
        channel=Channel.NUMERIC,
        recall=Recall.GROUP,
        ends_after_s=(1440.0, 1440.0),
        is_hardware=False,
    ),
)
# ByteRobust, as above: ends by software that a restart does not cure, and of these such that an older
# checkpoint cures.
CODE_SHARE, REPLAY_CURES = 10.4 / 33.1, 1.2 / 10.4
BY_NAME = {failure.name: failure for failure in FAILURES}
