"""The page for a person who opens the hub's address in a browser."""

from accelwatch.fleet.wire import FleetDocument
from accelwatch.web.index import by_state, link_page
from accelwatch.web.page import Page

_LINKS = (
    ("/v1/fleet", "the fleet in numbers"),
    ("/v1/nodes", "nodes, their age, and why one fails"),
    ("/v1/devices", "devices; with filter and fields"),
    ("/v1/groups?by=vendor", "sums by rack, partition, job, user, vendor"),
    ("/v1/events", "error events, newest first"),
    ("/v1/stream", "devices, events and values every second"),
    ("/v1/openapi.json", "all of this for machines"),
    ("/metrics", "aggregates for Prometheus"),
    ("/-/healthy", "whether the hub lives"),
    ("/-/ready", "whether the targets are known"),
)


def index_page(fleet: FleetDocument) -> Page:
    """Nodes and devices by state, problems, links."""
    told = f"Nodes: {by_state(fleet.nodes)}. Devices: {by_state(fleet.devices)}."
    summary = " ".join((told, *(f"{one}." for one in fleet.problems)))
    return link_page(f"accelwatch {fleet.version} hub", summary, _LINKS)
