"""What a rule may read of the group that a device belongs to: the functions, a row each."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.expr.vocabulary.names import Type

# By what devices are grouped. Within a job, devices of a vendor that report no model are alike.
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "node": "devices of the same node",
        "job": "devices that the same job has",
        "rack": "devices of the nodes with the same label `rack`",
        "model": "devices of the same vendor and model",
        "stage": "devices of the same stage of the same job",
        "job_model": "those of the same job that are of the same model",
        "stage_model": "those of the same stage that are of the same model",
    }
)
# Groups whose members are together because a job runs on them.
JOB_GROUPS = frozenset({"job", "stage", "job_model", "stage_model"})

# With fewer others that have a value the result is unknown.
LEAST_PEERS = 3
# In a group with fewer members a device is not compared with itself.
SMALL_GROUP = 8
# Median deviation to standard deviation, for a normal distribution.
MAD_SCALE = 1.4826
# Of the level: deviations below this share of the median count as this much.
LEAST_SCALE = 0.005
# Of the members, as many must be known to count them.
LEAST_WITH_VALUE = 0.5


class PeerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One function over the members of a group."""

    name: str
    usage: str
    help: str


_PEERS = (
    PeerRow(
        name="peer_median",
        usage='peer_median(number, by="job")',
        help="median over the peers; missing with fewer than three",
    ),
    PeerRow(
        name="peer_z",
        usage='peer_z(number, by="job")',
        help="by how many standard deviations, reckoned from medians, the value is above the peers'",
    ),
    PeerRow(
        name="peers_affected",
        usage='peers_affected("rule.id", by="rack")',
        help="for how many devices of the group, itself included, another rule is firing",
    ),
)

PEERS: Mapping[str, PeerRow] = MappingProxyType({row.name: row for row in _PEERS})


class FoldRow(msgspec.Struct, frozen=True, kw_only=True):
    """One way to fold a condition over a group, written after the group: `node.any(...)`."""

    name: str
    result: Type
    help: str


_FOLDS = (
    FoldRow(name="any", result=Type.BOOL, help="whether it is true of at least one device"),
    FoldRow(name="all", result=Type.BOOL, help="whether it is true of every device"),
    FoldRow(
        name="count",
        result=Type.NUMBER,
        help="of how many it is true; without one, how many there are",
    ),
    FoldRow(
        name="share", result=Type.NUMBER, help="the share of the known ones for which it is true"
    ),
)

FOLDS: Mapping[str, FoldRow] = MappingProxyType({row.name: row for row in _FOLDS})
