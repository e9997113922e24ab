"""The graphs of an incident, as a hub makes them."""

import contextlib
from urllib.parse import quote

from accelwatch.alerting.evaluation.paths import INCIDENTS
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.connection.session import Requests
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.schema.timestamps import unix_seconds


async def graphs_of(session: Requests, incident: str) -> IncidentGraphs | None:
    """None of an agent, of a hub that is older than graphs, and where the answer makes no sense."""
    path = f"{INCIDENTS}/{quote(incident, safe='')}/graphs"
    with contextlib.suppress(TargetFault, AccelwatchError):
        graphs = decoded(await session.document(path), IncidentGraphs)
        # Who draws them counts on both.
        unix_seconds(graphs.since)
        unix_seconds(graphs.end)
        return graphs
    return None
