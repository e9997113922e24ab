"""The picture of the evidence: values as a line, gaps as gaps, the moment at which it began."""

import re

import msgspec
import pytest

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.fleet.incident_page.graph import Trace, graph
from accelwatch.fleet.incident_page.traces import traces_of
from support.fleet.two_nodes import TwoNodes, view
from support.incidents.incident_samples import incident

END = 1_795_000_000.0


def trace(*values: float | None, absent: str = "") -> Trace:
    return Trace(name="power_watts", step_s=10.0, end=END, values=values, absent=absent)


def test_a_gap_is_a_gap_and_no_line_goes_through_it() -> None:
    drawn = graph(trace(400.0, 400.0, None, None, 100.0), END - 30.0)
    assert len(re.findall('class="line"', drawn)) == 2
    assert len(re.findall('class="gap"', drawn)) == 1


def test_what_ends_says_why() -> None:
    drawn = graph(trace(400.0, 400.0, None, None, None, None, absent="lost"), END - 40.0)
    assert "no data: lost" in drawn


def test_axes_have_units_and_times() -> None:
    drawn = graph(trace(400.0, 100.0), END - 10.0)
    assert ">400 W<" in drawn
    assert "UTC" in drawn
    assert "began 11:06:30" in drawn


@pytest.mark.parametrize("onset", [END - 100.0, END + 100.0])
def test_a_beginning_outside_of_the_picture_is_not_drawn(onset: float) -> None:
    assert "began" not in graph(trace(400.0, 100.0), onset)


@pytest.mark.parametrize("values", [(), (None,), (0.0,), (0.0, 0.0), (-5.0, 5.0), (1e300, 0.0)])
def test_anything_can_be_drawn(values: tuple[float | None, ...]) -> None:
    drawn = graph(trace(*values), END)
    assert drawn.startswith("<svg")
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_what_the_evidence_speaks_of_is_drawn() -> None:
    told = TwoNodes()
    for _ in range(4):
        told.tell("a", view(0, {("power_watts",): 100.0}))
        told.clock.advance(10.0)
    device = view(0).device.id
    entity = Entity(scope=Scope.DEVICE, node="a", device=device)
    power = incident(entity=entity, evidence=(Evidence(signal="power_watts", text="x"),))
    assert [one.name for one in traces_of(told.fleet, power)] == ["power_watts"]
    event = incident(entity=entity, evidence=(Evidence(signal="nvidia_xid_79", text="x"),))
    assert [one.name for one in traces_of(told.fleet, event)] == [
        "power_watts",
        "temperature_celsius.gpu",
    ]
    assert {*traces_of(told.fleet, power)[0].values} == {None, 100.0}


def test_of_what_is_no_device_nothing_is_drawn() -> None:
    told = TwoNodes()
    entity = Entity(scope=Scope.NODE, node="a")
    assert traces_of(told.fleet, incident(entity=entity)) == ()
    gone = msgspec.structs.replace(entity, node="zz", device="x")
    assert traces_of(told.fleet, incident(entity=gone)) == ()
