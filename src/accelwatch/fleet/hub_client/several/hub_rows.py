"""Rows of `/v1/nodes` and `/v1/devices` of several hubs: by the names of the picture, as they count now.
Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from accelwatch.fleet.hub_client.several.hub_picture import HubPicture
from accelwatch.fleet.hub_client.several.merging.totals import (
    stale_device_state,
    stale_node_state,
)
from accelwatch.fleet.hub_client.several.names.locations import labelled
from accelwatch.fleet.hub_client.several.names.shared_nodes import Ownership

# A row as the API has it.
Row = dict[str, Any]


def shown_rows(hub: int, raws: Iterable[msgspec.Raw], owner: Ownership) -> Iterator[Row]:
    """Rows of nodes or devices that a hub speaks for."""
    for raw in raws:
        row: Row = msgspec.json.decode(raw)
        own = row["node"]
        if own in owner.hidden[hub]:
            continue
        row["node"] = owner.name_of(hub, own)
        row["labels"] = labelled(row["labels"], owner.hub_label(hub, own))
        yield row


def node_as_of_now(row: Row, picture: HubPicture) -> Row:
    """A node of a hub, whose rows are as old as its picture."""
    if picture.silent:
        row["state"] = stale_node_state(row["state"])
        row["age_s"] = None if row["age_s"] is None else row["age_s"] + picture.age_s
    return row


def device_as_of_now(row: Row, picture: HubPicture) -> Row:
    """The same of a device."""
    if picture.silent:
        row["state"] = stale_device_state(row["state"])
        row["node_state"] = stale_node_state(row["node_state"])
        age = row["sample_age_s"]
        row["sample_age_s"] = None if age is None else age + picture.age_s
    return row
