"""The picture of the evidence: line and band, gaps as gaps, the time at which it started."""

import re

import msgspec
import pytest

from accelwatch.fleet.documents.graphs import IncidentGraphs, QuantityGraph
from accelwatch.fleet.incident_page.graph import graph_of
from accelwatch.fleet.picture.graph_text import bounds, caption
from accelwatch.schema.timestamps import timestamp

END = 1_795_000_000.0


def quantity_graph(*values: float | None, absent: str = "", **fields: object) -> QuantityGraph:
    whole = QuantityGraph(name="power_watts", unit="watts", values=values, absent=absent)
    return msgspec.structs.replace(whole, **fields)


def beside(
    *values: float | None, peers: tuple[float | None, ...] = (), count: int = 59, absent: str = ""
) -> QuantityGraph:
    """The line of a device, and peers half of which are within 10 W of these values."""
    return quantity_graph(
        *values,
        lower_quartile=tuple(None if value is None else value - 10.0 for value in peers),
        median=peers,
        upper_quartile=tuple(None if value is None else value + 10.0 for value in peers),
        peers=count,
        absent=absent,
    )


def graphs(graph: QuantityGraph, onset: float = END - 30.0) -> IncidentGraphs:
    return IncidentGraphs(
        id="i3",
        line="n002 nvidia3",
        band="other devices of job 4711",
        since=timestamp(onset),
        end=timestamp(END),
        step_s=10.0,
        graphs=(graph,),
    )


def drawn(graph: QuantityGraph, onset: float = END - 30.0) -> str:
    return graph_of(graphs(graph, onset), graph)


def paths(svg: str, class_: str) -> list[str]:
    return re.findall(f'<path d="([^"]*)" class="{class_}"', svg)


def test_a_gap_is_a_gap_and_no_line_goes_through_it() -> None:
    svg = drawn(quantity_graph(400.0, 400.0, None, None, 100.0))
    assert len(paths(svg, "line")) == 2
    assert len(re.findall('class="gap"', svg)) == 1


def test_a_gap_of_the_peers_is_a_gap_of_the_band() -> None:
    svg = drawn(beside(200.0, 200.0, 200.0, 200.0, peers=(400.0, None, None, 400.0)))
    assert len(paths(svg, "line")) == 1
    assert len(paths(svg, "median")) == 2
    first, last = paths(svg, "band")
    assert first.endswith("Z")
    assert _xs(first).isdisjoint(_xs(last)), "the band does not reach over the gap"


def _xs(path: str) -> set[str]:
    return set(re.findall(r"[ML]([0-9.]+) ", path))


def test_the_band_is_between_the_quartiles() -> None:
    svg = drawn(beside(200.0, 400.0, peers=(400.0, 400.0)))
    (band,) = paths(svg, "band")
    heights = {float(y) for y in re.findall(r" ([0-9.]+)(?= L| Z)", band)}
    (median,) = paths(svg, "median")
    (middle,) = {float(y) for y in re.findall(r" ([0-9.]+)(?= L|$)", median)}
    assert min(heights) < middle < max(heights)


def test_what_has_no_peers_has_no_band() -> None:
    svg = drawn(beside(200.0, 400.0, peers=(None, None), count=0))
    assert paths(svg, "band") == paths(svg, "median") == []
    assert paths(svg, "line")


def test_what_ends_says_why() -> None:
    svg = drawn(quantity_graph(400.0, 400.0, None, None, None, None, absent="lost"), END - 40.0)
    assert "no data: lost" in svg


def test_axes_have_units_and_times() -> None:
    svg = drawn(quantity_graph(400.0, 100.0), END - 10.0)
    assert ">400 W<" in svg
    assert "UTC" in svg
    assert "began 11:06:30" in svg


def test_noise_does_not_fill_the_picture_and_a_share_is_no_more_than_all() -> None:
    assert bounds(quantity_graph(696.0, 700.0)) == pytest.approx((628.0, 768.0))
    assert bounds(quantity_graph(0.97, 0.99, unit="ratio")) == pytest.approx((0.802, 1.0))
    assert bounds(quantity_graph(500.0, 700.0)) == (500.0, 700.0)
    assert bounds(quantity_graph(100.0, 700.0)) == (0.0, 700.0)
    assert bounds(quantity_graph(0.0)) == (-1.0, 1.0)


@pytest.mark.parametrize("onset", [END - 100.0, END + 100.0])
def test_a_start_outside_of_the_picture_is_not_drawn(onset: float) -> None:
    assert "began" not in drawn(quantity_graph(400.0, 100.0), onset)


@pytest.mark.parametrize("values", [(), (None,), (0.0,), (0.0, 0.0), (-5.0, 5.0), (1e300, 0.0)])
def test_anything_can_be_drawn(values: tuple[float | None, ...]) -> None:
    for graph in (quantity_graph(*values), beside(*values, peers=values)):
        svg = drawn(graph, END)
        assert svg.startswith("<svg")
        assert "nan" not in svg
        assert "inf" not in svg


def test_the_words_say_what_line_and_band_show() -> None:
    graph = beside(200.0, 212.0, peers=(400.0, 396.0))
    assert caption(graphs(graph), graph) == (
        "n002 nvidia3: 212 W; 59 other devices of job 4711: 396 W, half of them 386 W to 406 W"
    )


def test_the_words_say_until_when_a_device_that_has_gone_reported_anything() -> None:
    graph = beside(200.0, None, None, None, peers=(400.0,) * 4, absent="lost")
    text = caption(graphs(graph), graph)
    assert text.startswith("n002 nvidia3: 200 W until 11:06 (lost); 59 other devices")


def test_the_words_do_not_speak_of_many_where_there_is_one_peer() -> None:
    graph = beside(200.0, peers=(400.0,), count=1)
    assert "; 1 other device of job 4711: 400 W" in caption(graphs(graph), graph)


def test_the_words_say_that_there_is_nothing_to_compare_with() -> None:
    graph = quantity_graph(None, None)
    assert caption(graphs(graph), graph) == "n002 nvidia3: no value; no peers to compare with"


def test_growth_is_written_a_second_and_that_of_seconds_as_a_share() -> None:
    graph = quantity_graph(2.0, name="ecc_errors_total.corrected", unit="", rate=True)
    assert "n002 nvidia3: 2/s;" in caption(graphs(graph), graph)
    graph = quantity_graph(0.25, name="throttle_seconds_total.thermal", unit="seconds", rate=True)
    assert "n002 nvidia3: 25%;" in caption(graphs(graph), graph)
