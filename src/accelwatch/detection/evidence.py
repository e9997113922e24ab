"""What a channel has to say about rows at a tick, before anything is concluded from it."""

from enum import StrEnum
from typing import NamedTuple

from accelwatch.detection.arrays import Floats, Indices


class Channel(StrEnum):
    """The kinds of evidence, as they are named to people and in an archive's findings."""

    PEER = "peer"
    DRIFT = "drift"
    COUNTER = "counter"
    HARD = "hard"
    STRUCTURAL = "structural"
    HANG = "hang"
    RELATION = "relation"
    LOG = "log"
    HOST = "host"
    PRIOR = "prior"


class Weight(StrEnum):
    """What evidence is enough for."""

    # Alone, at once: a hard rule, a device that has gone, a critical line of the log.
    DECISIVE = "decisive"
    # With another family, or alone when it is strong and lasts.
    STATISTICAL = "statistical"
    # Confirms another family; alone a watch after a while.
    CONFIRMING = "confirming"


class Subject(StrEnum):
    """Whose rows evidence is about."""

    DEVICE = "device"
    NODE = "node"
    # Rows are codes of jobs.
    JOB = "job"


class Evidence(NamedTuple):
    """What one channel says in one family of signals; arrays are of equal length, a row at most once.

    Rows that are not there have nothing to say: unknown is no evidence, neither for nor against.
    """

    channel: Channel
    weight: Weight
    family: str
    subject: Subject
    rows: Indices
    # Standard deviations, or what weighs as much (see each channel); positive, the greater the worse.
    score: Floats
    # Seconds for which the score has lasted.
    sustained_s: Floats
    # Unix seconds at which it began: the onset, as far as this channel can date it.
    since: Floats
    # The strongest signal: its index in DEVICE_SIGNALS or NODE_SIGNALS; -1 for none.
    signal: Indices
    # Code of the advice in `Advice`, empty for none; one for all rows.
    advice: str = ""
    # For people: code of the event or name of the rule, empty for none; one for all rows.
    cause: str = ""
