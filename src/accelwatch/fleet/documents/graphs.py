"""What `GET /v1/incidents/{id}/graphs` answers: quantities over time beside peers."""

import msgspec

# Drawn where the evidence is no quantity: they show whether the device still works.
MOST_OTHERS = 2
# By step, oldest first; null where there is no value.
Line = tuple[float | None, ...]


class QuantityGraph(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity: a line, and the quartiles of its peers at each step. All are equally long."""

    # Its path in the catalogue: `temperature_celsius.gpu`.
    name: str
    # Base unit of the numbers, as in the catalogue; empty where it has none.
    unit: str
    # Whether it is by how much a counter grows a second.
    rate: bool = False
    # Of the device; of a node the median of its devices.
    values: Line
    lower_quartile: Line = ()
    median: Line = ()
    upper_quartile: Line = ()
    # Whether the evidence is about it; others show what happened to the work.
    evidence: bool = True
    # Peers with any value of it.
    peers: int = 0
    # Why there is no value now, such as a device state; empty where there is one.
    absent: str = ""

    @property
    def title(self) -> str:
        """What is drawn, in words."""
        return f"{self.name} per second" if self.rate else self.name


class IncidentGraphs(msgspec.Struct, frozen=True, kw_only=True):
    """The graphs of an incident: of the evidence in its order, then others. Times are RFC 3339."""

    id: str
    # Whose the lines are: `n002 nvidia3`, or `the median of the 8 devices of n002`.
    line: str
    # Whose the bands are: `other devices of job 4711 and model NVIDIA H100`; empty without peers.
    band: str
    # When what is wrong began, as far as the detector can date it, else since when the rule holds.
    since: str
    # When the last step ends.
    end: str
    step_s: float
    graphs: tuple[QuantityGraph, ...]
    # What is not drawn, and why, in sentences.
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> tuple[QuantityGraph, ...]:
        """Those of the evidence; where it is no quantity, such as an event, the first others."""
        evidence = tuple(graph for graph in self.graphs if graph.evidence)
        return evidence or self.graphs[:MOST_OTHERS]
