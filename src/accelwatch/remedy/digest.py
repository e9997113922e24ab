"""What a person approves: a short name of what would be done to a node, another one for another plan."""

import hashlib

import msgspec

from accelwatch.remedy.case import Policy


def digest_of(node: str, incident: str, policy: Policy) -> str:
    """Sixteen hexadecimal digits over node, incident and all that the rule wants done."""
    body = msgspec.json.encode((node, incident, policy))
    return hashlib.sha256(body).hexdigest()[:16]
