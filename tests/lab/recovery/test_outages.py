"""Outages of a trace: joined where they overlap, counted where they are out at once."""

import gzip
from pathlib import Path
from random import Random

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch_lab.recovery.outages import Outage, OutageTrace, outages_of, spares_in_trace
from support.machines.samples import samples_root

FILE = Path(__file__).resolve().parents[3] / "fixtures/recovery/outages.json"
TRACE = samples_root().parent / "traces/infinitehbd/fault_trace.json.gz"


def read_outages(path: Path, servers: int | None = None) -> OutageTrace:
    return outages_of(path.read_bytes(), path.name, servers)


def test_overlapping_outages_and_those_with_a_short_pause_are_one() -> None:
    trace = read_outages(FILE)
    assert trace.by_node == {
        "a": (Outage(0.0, 2.0), Outage(2.25, 2.5)),
        "b": (Outage(3.0, 4.0), Outage(10.0, 10.5)),
        "c": (Outage(9.0, 10.5),),
    }
    assert (trace.count, trace.days, trace.servers) == (5, 10.5, 3)
    assert trace.node_days == pytest.approx(5.25)


@pytest.mark.parametrize(("within_days", "count"), [(0.2, 0), (0.3, 1), (6.0, 1), (6.1, 2)])
def test_an_outage_soon_after_another_one_of_its_node_is_a_relapse(
    within_days: float, count: int
) -> None:
    assert read_outages(FILE).relapses(within_days) == count


def test_a_compressed_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "outages.json.gz"
    path.write_bytes(gzip.compress(FILE.read_bytes()))
    assert read_outages(path).by_node == read_outages(FILE).by_node


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.json.gz", gzip.compress(FILE.read_bytes(), mtime=0)[:60]),
        ("other.json.gz", b"\x1f\x8b[]"),
        ("empty.json", b"[]"),
        ("object.json", b"{}"),
        ("type.json", b'[{"node_id": "a", "event_time": 1, "event_type": "x"}]'),
        (
            "time.json",
            b'[{"node_id": "a", "event_time": -1, "event_type": "fault_end"}]',
        ),
    ],
)
def test_what_is_no_trace_is_refused_by_its_name(name: str, data: bytes) -> None:
    with pytest.raises(ConfigError, match=name):
        outages_of(data, name)


def test_fewer_servers_than_failed_are_refused() -> None:
    with pytest.raises(ConfigError, match="3 servers failed in it, more than 2"):
        read_outages(FILE, 2)


@pytest.mark.parametrize(("enough", "spares"), [(1.0, 2), (0.9, 1), (0.2, 0)])
def test_as_many_spares_as_were_out_at_once(enough: float, spares: int) -> None:
    """b and c are out at once for half a day of 10.5, nobody for 4.75."""
    assert spares_in_trace(read_outages(FILE), 3, Random(0), enough) == spares


def test_servers_that_never_failed_need_no_spare() -> None:
    assert spares_in_trace(read_outages(FILE, 400), 3, Random(0)) == 0


def test_a_trace_says_nothing_of_more_nodes_than_it_has_servers() -> None:
    assert spares_in_trace(read_outages(FILE), 4, Random(0)) is None


@pytest.mark.skipif(not TRACE.exists(), reason="the trace is not here")
def test_the_published_trace() -> None:
    trace = read_outages(TRACE, 400)
    assert (trace.count, trace.relapses(7.0)) == (535, 134)
    assert spares_in_trace(trace, 400, Random(0)) == 31
    assert spares_in_trace(trace, 60, Random(0)) in (5, 6)
