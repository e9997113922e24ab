"""What a rule that quarantines single devices may not do: the rest of the node goes on working."""

from collections.abc import Mapping

from accelwatch.alerting.rules.document import (
    ActionDocument,
    JobPolicy,
    QuarantineLevel,
    Scope,
)
from accelwatch.alerting.rules.loading.checks import Section

_OF_NODE = frozenset({"reboot", "power_cycle"})
_WRITE_NODE = "write quarantine: {level: node}"


def check_device_level(
    written: ActionDocument | None, scope: Scope | None, section: Section
) -> None:
    """Complain about an action that needs the whole node; `scope` is None where it is not known."""
    if written is None or written.quarantine is None:
        return
    if written.quarantine.level is not QuarantineLevel.DEVICE:
        return
    if scope not in (Scope.DEVICE, None):
        text = f"a rule of scope {scope} names no device; write node"
        section.at("quarantine").complain("level", text)
    for at, step in enumerate(written.remedy):
        name = next(iter(step), "") if isinstance(step, Mapping) else step
        if name in _OF_NODE:
            section.at("remedy").complain(at, f"{name} is for the whole node; {_WRITE_NODE}")
    for at, check in enumerate(written.verify):
        if "active" in check:
            section.at("verify").complain(at, f"a test needs the whole node; {_WRITE_NODE}")
    if written.spare is not None and written.spare.draw:
        section.at("spare").complain("draw", f"a spare is a whole node; {_WRITE_NODE}")
    if written.job is not None and written.job.policy is JobPolicy.IN_JOB:
        section.at("job").complain("policy", f"in_job leaves the whole node out; {_WRITE_NODE}")
