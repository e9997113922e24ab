"""Notices that tests send, and one that is as long as can be."""

import msgspec

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import ApprovalRequest, Notice, NoticeKind

NOTICE = Notice(
    key="west/i42",
    sequence=1,
    kind=NoticeKind.OPENED,
    severity=Severity.CRITICAL,
    title="GPU has fallen off the bus",
    where="n12 nvidia3 (serial 1652923012345, NVIDIA H100 80GB HBM3, rack r7)",
    since=1_795_317_247.0,
    time=1_795_317_257.0,
    evidence=("device_up is 0 since 10 s", "Xid 79, fallen off the bus"),
    jobs=("4711",),
    users=("ana",),
    nodes=("n12",),
    what_to_do="reboot the node",
    runbook="https://example.org/xid79",
    rule="nvidia.gpu.lost",
    source="NVIDIA Xid catalog",
    link="https://hub/i42",
    labels={"rule": "nvidia.gpu.lost", "node": "n12", "device": "nvidia3", "severity": "critical"},
)
REQUEST = ApprovalRequest(
    node="n12",
    plan="554dd877c172041b",
    steps=("take n12 out of the pool",),
    at=1_795_317_248.0,
    until=1_795_319_048.0,
    link="https://hub/incidents/i42?link=abc.def",
)
_KOREAN = "가" * 200
# A node whose name has 200 Korean letters, and everything else likewise.
LONG = msgspec.structs.replace(
    NOTICE,
    title=_KOREAN,
    where=" ".join([_KOREAN] * 40),
    evidence=(f"{_KOREAN}&<>" * 60,) * 3,
    jobs=(_KOREAN,) * 20,
    users=(_KOREAN,) * 20,
    nodes=(_KOREAN,) * 200,
    what_to_do=f"{_KOREAN}\\*[_]" * 40,
    labels={"node": _KOREAN, "rule": "nvidia.gpu.lost"},
)


def notice(**fields: object) -> Notice:
    """The usual notice with other fields."""
    return msgspec.structs.replace(NOTICE, **fields)
