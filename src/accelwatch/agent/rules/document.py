"""/v1/incidents: what is going on here, what is over lately, and how far that can be believed."""

import msgspec

from accelwatch.agent.rules.counts import count_devices
from accelwatch.incidents.document import SCHEMA, incident_document
from accelwatch.judging.runner import RuleRunner
from accelwatch.schema.moments import timestamp
from accelwatch.schema.snapshot import Snapshot

MOST_RECENT = 100


def incidents_document(rules: RuleRunner, snapshot: Snapshot) -> bytes:
    """The page; `recent` are those that are over, the latest first."""
    document = {
        "schema": SCHEMA,
        "host": snapshot.host,
        "version": snapshot.version,
        "time": timestamp(snapshot.time),
        "interval_s": rules.interval_s,
        "judged_age_s": rules.judged_age_s,
        "rules": {"count": len(rules.rules.rules), "digest": rules.rules.digest},
        "problems": rules.problems,
        "devices": count_devices(snapshot),
        "open": [incident_document(one) for one in rules.open],
        "recent": [incident_document(one) for one in rules.closed[:MOST_RECENT]],
    }
    return msgspec.json.encode(document) + b"\n"
