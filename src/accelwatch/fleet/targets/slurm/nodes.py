"""What `scontrol show nodes` prints, as JSON or as text, and what becomes of a node. Pure.

The text is that of scontrol(1) with `--oneliner`; the JSON is `dump nodes` of Slurm's own data parser,
in which `state` was a word with `state_flags` beside it up to 22.05 and is a list since.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from accelwatch.api_client.slurm.scontrol_text import pairs_of, states_of, without_reason
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.fleet.targets.settings import SlurmSd

_NOTHING = ("(null)", "N/A", "none", "")
_BUSY = ("allocated", "mixed", "completing")


class SlurmNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the cluster."""

    name: str
    hostname: str = ""
    address: str = ""
    # Base state, then flags, in lower case.
    states: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    gres: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    # Why it was drained, as whoever did it wrote.
    reason: str = ""

    @property
    def out(self) -> bool:
        """Whether it is out of service: drained, failed or set down."""
        return not {"drain", "fail", "down"}.isdisjoint(self.states)

    @property
    def state(self) -> str:
        """One word, as `sinfo` shows it: drained, draining, fail, failing, down, idle, mixed, ..."""
        flags = set(self.states)
        busy = not flags.isdisjoint(_BUSY)
        for flag, working, resting in (
            ("drain", "draining", "drained"),
            ("fail", "failing", "fail"),
            ("maintenance", "maint", "maint"),
            ("down", "down", "down"),
            ("powered_down", "powered_down", "powered_down"),
            ("powering_up", "powering_up", "powering_up"),
        ):
            if flag in flags:
                return working if busy else resting
        return self.states[0] if self.states else "unknown"


def nodes_of_text(text: str) -> list[SlurmNode]:
    """Nodes of one line each. Raises UsageError when a line is none."""
    nodes = []
    for line in text.splitlines():
        if not line.strip():
            continue
        reason, fields = without_reason(line)
        pairs = pairs_of(fields)
        if not pairs.get("NodeName"):
            raise UsageError(f"a line of scontrol that is not a node: {line[:80]!r}")
        nodes.append(
            SlurmNode(
                name=pairs["NodeName"],
                hostname=pairs.get("NodeHostName", ""),
                address=pairs.get("NodeAddr", ""),
                states=tuple(state.lower() for state in states_of(pairs.get("State", ""))),
                partitions=_listed(pairs.get("Partitions")),
                gres=_listed(pairs.get("Gres")),
                features=_listed(pairs.get("ActiveFeatures")),
                reason="" if reason.text in _NOTHING else reason.text,
            )
        )
    return nodes


def nodes_of_json(data: bytes) -> list[SlurmNode]:
    """Nodes of a JSON document. Raises UsageError when it is none, or reports errors."""
    try:
        document = msgspec.json.decode(data)
    except DECODE_ERRORS as error:
        raise UsageError(f"no JSON: {error}") from error
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, list) or document.get("errors"):
        raise UsageError("a JSON document with errors, or without nodes")
    return [_node(node) for node in nodes if isinstance(node, dict) and node.get("name")]


def _node(document: Mapping[str, Any]) -> SlurmNode:
    state = document.get("state")
    states = state if isinstance(state, list) else [state, *(document.get("state_flags") or ())]
    return SlurmNode(
        name=str(document["name"]),
        hostname=str(document.get("hostname") or ""),
        address=str(document.get("address") or ""),
        states=_states(states),
        partitions=_listed(document.get("partitions")),
        gres=_listed(document.get("gres")),
        features=_listed(document.get("active_features")),
        reason=str(document.get("reason") or ""),
    )


def _states(names: Sequence[object]) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in names if isinstance(name, str) and name.strip())


def _listed(value: object) -> tuple[str, ...]:
    """A list, or a text with commas; those within brackets and braces part nothing."""
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    if not isinstance(value, str) or value in _NOTHING:
        return ()
    return tuple(item for item in re.split(r",(?![^(\[]*[)\]])", value) if item)


def leaf_switches(text: str) -> dict[str, str]:
    """Node to leaf switch, of `scontrol show topology`. Lines without nodes are left out.

    Raises UsageError for a host range that makes no sense.
    """
    by_node: dict[str, str] = {}
    for line in text.splitlines():
        pairs = pairs_of(line)
        if pairs.get("SwitchName") and pairs.get("Level") == "0":
            for node_range in _listed(pairs.get("Nodes")):
                for node in expand(node_range):
                    by_node[node] = pairs["SwitchName"]
    return by_node


def is_selected(node: SlurmNode, settings: SlurmSd) -> bool:
    """Whether the filters let a node through."""
    if settings.partitions and not set(settings.partitions) & set(node.partitions):
        return False
    required = settings.gres
    return not required or any(
        re.match(re.escape(required) + r"(?![^:(=])", gres) for gres in node.gres
    )


def labels_of(node: SlurmNode, settings: SlurmSd, switches: Mapping[str, str]) -> dict[str, str]:
    """The labels that a node's targets get.

    A node in several partitions has the first of the configured ones that it is in, else the first
    that Slurm lists.
    """
    labels = {**settings.labels, "node": node.name, "slurm_state": node.state}
    ours = [partition for partition in settings.partitions if partition in node.partitions]
    if partitions := ours or node.partitions:
        labels["partition"] = partitions[0]
    for label, prefix in settings.feature_labels.items():
        for feature in node.features:
            if feature.startswith(prefix) and feature != prefix:
                labels.setdefault(label, feature.removeprefix(prefix))
    if settings.switch_label and node.name in switches:
        labels[settings.switch_label] = switches[node.name]
    return labels


def address_of(node: SlurmNode, settings: SlurmSd) -> str:
    """Host and port that a node is connected to."""
    named = {"name": node.name, "hostname": node.hostname, "address": node.address}
    host = named[settings.address] or node.name
    return f"[{host}]:{settings.port}" if ":" in host else f"{host}:{settings.port}"
