"""What tests have shown of nodes: the latest of each on every node, and the evidence of a remedy."""

from collections.abc import Mapping

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """What a test has measured on a node."""

    value: float
    # A base unit (`bytes_per_second`); empty where the test names none.
    unit: str = ""
    # Of the node's devices.
    model: str = ""
    # The scheduler's name of the peer; empty for a test of one node.
    peer: str = ""
    # Unix seconds.
    at: float


class LatestRun(msgspec.Struct, frozen=True, kw_only=True):
    """How one test stands on one node."""

    # Unix seconds at which it last started, whatever the result.
    tried: float
    # Unix seconds at which it came to a result last; None: it never did.
    ended: float | None = None
    # Unix seconds at which it passed last.
    passed: float | None = None
    # Why the latest did not pass; empty when it did.
    failed: str = ""
    # The scheduler's name of the peer with which it has failed, until a test with another one.
    failed_with: str = ""
    # Why the latest could not be run; empty when it could.
    not_run: str = ""
    # The latest figure that was not too small.
    figure: Figure | None = None


class NodeTests(msgspec.Struct, frozen=True, kw_only=True):
    """How the tests of one node stand, by their names."""

    runs: Mapping[str, LatestRun] = {}


def latest_run(tests: Mapping[str, NodeTests], node: str, test: str) -> LatestRun | None:
    """How a test stands on a node, by the hub's name; None where it never started there."""
    tests_of_node = tests.get(node)
    return None if tests_of_node is None else tests_of_node.runs.get(test)


class VerificationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one test of a node has come to: evidence for or against its return."""

    test: str
    # Unix seconds.
    time: float
    passed: bool
    # For people: the result in one sentence.
    text: str
    # The scheduler's name of the peer; empty for a test of one node.
    peer: str = ""
    # None: it measures nothing, or has printed no figure.
    value: float | None = None
    unit: str = ""
    # None: its end alone decides, or nobody knows how much it has to be.
    floor: float | None = None
    # For people: whose floor that is, `set for H100`, `90 % of the median of 5 nodes`.
    floor_of: str = ""
    # What was run, as far as the action knows it.
    command: str = ""


# Results that a remedy keeps.
MOST_RESULTS = 16
