"""The explanation of a rule on an entity, from a hub or an agent."""

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.evaluation.paths import EXPLAIN
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.follow.failures.faults import TargetFault, first_line
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.documents import decoded


async def explained(session: HubSession, rule: str, entity: str) -> Explanation:
    """How it is now. Raises AccelwatchError when it cannot be said."""
    try:
        body = await session.document(EXPLAIN, {"rule": rule, "entity": entity})
    except TargetFault as fault:
        raise AccelwatchError(f"it is not explained: {first_line(fault)}") from fault
    return decoded(body, Explanation)
