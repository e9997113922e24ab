"""On which nodes a new or changed rule acts at first: a share of the fleet, ever the same. Pure."""

import hashlib
from collections.abc import Mapping

import msgspec

from accelwatch.alerting.rules.rule import Canary
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind


class RuleVersion(msgspec.Struct, frozen=True):
    """Since when a rule says what it says."""

    digest: str
    # Unix seconds.
    at: float


class CanaryState(msgspec.Struct, frozen=True, kw_only=True):
    """Since when every rule in force has been as it is, by its id."""

    rules: Mapping[str, RuleVersion] = {}


def noted(state: CanaryState, digests: Mapping[str, str], now: float) -> CanaryState:
    """The rules that are in force now, by id, with what they say. A changed one is a new one."""
    rules = {}
    for id_, digest in digests.items():
        existing = state.rules.get(id_)
        rules[id_] = (
            existing if existing and existing.digest == digest else RuleVersion(digest, now)
        )
    return state if rules == state.rules else CanaryState(rules=rules)


def may_act(state: CanaryState, rule: str, node: str, canary: Canary | None, now: float) -> Answer:
    """Whether a rule may act on a node by now. A rule that was never noted is as new as can be."""
    if canary is None:
        return PERMIT
    existing = state.rules.get(rule)
    until = (now if existing is None else existing.at) + canary.for_s
    # By a hash of rule and node: the same nodes after a restart and on a second hub, others for
    # each rule.
    if now >= until or position(rule, node) < canary.share:
        return PERMIT
    text = (
        f"{rule} is new or changed, and acts on {canary.share:.3g} of the nodes only, not on {node}"
    )
    return Denial(why=DenialKind.CANARY, text=text, until=until)


def position(rule: str, node: str) -> float:
    """Where a node stands among all for a rule, from 0 to below 1; the same in every process."""
    digest = hashlib.sha256(f"{rule}\0{node}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
