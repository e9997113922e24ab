"""The exposition: right families, right caps, and every parser agrees with it."""

import re
import shutil
import subprocess
from collections import Counter

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict_parse
from prometheus_client.parser import text_string_to_metric_families as parse

from accelwatch.base.errors import UsageError
from accelwatch.exposition.selection import Selection, selection
from accelwatch.schema.catalogue.lookup import catalogue, opt_in_groups
from accelwatch.schema.device import DeviceState
from accelwatch.schema.metrics import Kind, MetricSource, Series, Tier
from accelwatch.schema.reading import Number, Reading, complete, cut_note
from accelwatch.schema.snapshot import DeviceView, EventCount, Owner, Snapshot
from accelwatch_prometheus.render import (
    MAX_SERIES_PER_DEVICE,
    MAX_SERIES_PER_NODE,
    Renderer,
)
from support.machines.composed import NOW, device, lost_view, mig_view, processes, snapshot, view

DEFAULT = Selection()
EVERYTHING = selection(groups=opt_in_groups())


def series(text: str) -> dict[str, float]:
    """Sample lines as `name{labels}` to value."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            assert name not in found, f"twice: {name}"
            found[name] = float(value)
    return found


def every_row_view() -> DeviceView:
    """A device with a value for each row a backend can fill, and histograms."""
    found: dict[Series, Number] = {
        (row.key, *(f"{label}0" for label in row.labels)): 1
        for row in catalogue()
        if row.source is MetricSource.READ and row.scope.value == "device"
    }
    histograms = {
        row.key: (tuple(range(len(row.buckets) + 1)), 3.5)
        for row in catalogue()
        if row.kind is Kind.HISTOGRAM and row.tier is Tier.OPT_IN
    }
    reading = Reading(device_id="x", values=found, processes=processes("x"))
    owners = (
        Owner(kind="job", scheduler="slurm", job_id="42", user="trainer"),
        Owner(kind="kubernetes", namespace="ml", pod="p", container="c", resource="nvidia.com/gpu"),
    )
    return msgspec.structs.replace(view(0), reading=reading, histograms=histograms, owners=owners)


def render(shot: Snapshot, chosen: Selection = DEFAULT) -> str:
    return Renderer().render(shot, chosen)


def test_profiles_are_the_documented_sizes() -> None:
    text = render(snapshot(view(0)))
    minimal = render(snapshot(view(0)), selection(profile="minimal"))
    per_device = [line for line in series(text) if 'uuid="' in line]
    per_device_minimal = [line for line in series(minimal) if 'uuid="' in line]
    assert 80 <= len(per_device) <= 92
    assert 30 <= len(per_device_minimal) <= 40
    assert set(per_device_minimal) < set(per_device)


def test_promtool_finds_nothing() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not on PATH (Debian: apt install prometheus)")
    shot = snapshot(every_row_view(), lost_view(3), mig_view(1, 0))
    for text in (render(shot), render(shot, EVERYTHING)):
        run = subprocess.run(
            [promtool, "check", "metrics"], input=text, text=True, capture_output=True, check=False
        )
        assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_two_independent_parsers_read_every_sample() -> None:
    shot = snapshot(every_row_view(), lost_view(3), mig_view(1, 0))
    text = render(shot, EVERYTHING)
    assert sum(len(family.samples) for family in parse(text)) == len(series(text))
    openmetrics = render(shot, msgspec.structs.replace(EVERYTHING, openmetrics=True))
    assert openmetrics.endswith("# EOF\n")
    strict = sum(len(family.samples) for family in strict_parse(openmetrics))
    assert strict == len(series(text))


def test_every_series_is_of_the_catalogue_and_counted() -> None:
    text = render(snapshot(every_row_view()), EVERYTHING)
    found = series(text)
    of_catalogue = {row.family for row in catalogue()} | {
        f"{row.family}{part}"
        for row in catalogue()
        if row.kind is Kind.HISTOGRAM
        for part in ("_bucket", "_sum", "_count")
    }
    assert {name.partition("{")[0] for name in found} <= of_catalogue
    assert found["accel_exporter_series"] == len(found)


def test_help_and_type_come_from_the_row() -> None:
    text = render(snapshot(every_row_view()), EVERYTHING)
    for row in catalogue():
        if f"# TYPE {row.family} " in text:
            assert f"# HELP {row.family} {row.help}\n" in text
    types = set(re.findall(r"# TYPE \S+ (\S+)", text))
    assert types == {"gauge", "counter", "histogram"}


def test_a_lost_device_keeps_what_names_it_and_loses_what_measures_it() -> None:
    found = series(render(snapshot(lost_view(3))))
    mine = {name: value for name, value in found.items() if 'device="nvidia3"' in name}
    names = {name.partition("{")[0] for name in mine}
    assert names == {
        "accel_device_info",
        "accel_device_inventory_info",
        "accel_device_up",
        "accel_device_unreadable_info",
        "accel_device_last_read_timestamp_seconds",
        "accel_health",
        "accel_error_events_total",
        "accel_error_event_last_timestamp_seconds",
    }
    assert mine[f'accel_device_up{{vendor="nvidia",device="nvidia3",uuid="{device(3).uuid}"}}'] == 0
    assert sum(value for name, value in mine.items() if name.startswith("accel_health")) == 1


def test_a_partition_never_adds_to_its_parents_families() -> None:
    found = series(render(snapshot(view(0), mig_view(1, 0))))
    memory = [name for name in found if name.startswith("accel_memory_used_bytes")]
    assert len(memory) == 1
    parent = f'vendor="nvidia",device="nvidia0",uuid="{device(0).uuid}"'
    partition = f'accel_partition_memory_used_bytes{{{parent},partition="gi1/ci0"}}'
    assert found[partition] == 3 << 30
    assert found['accel_devices{vendor="nvidia",state="ok"}'] == 1


def test_labels_are_escaped_and_empty_ones_left_out() -> None:
    odd = msgspec.structs.replace(view(0), device=device(0, model='a "b"\\c\nd', numa_node=None))
    text = render(snapshot(odd))
    assert 'model="a \\"b\\"\\\\c\\nd"' in text
    assert "numa_node=" not in text
    assert '=""' not in text
    (info,) = [family for family in parse(text) if family.name == "accel_device_info"]
    assert info.samples[0].labels["model"] == 'a "b"\\c\nd'


def test_a_device_over_its_cap_is_cut_and_the_cut_is_counted() -> None:
    values: dict[Series, Number] = {("link_up", "nvlink", str(number)): 1 for number in range(500)}
    values[("power_watts",)] = 1
    crowded = msgspec.structs.replace(
        view(0), reading=complete(Reading(device_id="x", values=values), frozenset({"links"}))
    )
    renderer = Renderer()
    found = series(renderer.render(snapshot(crowded), selection(groups=("links",))))
    mine = [name for name in found if 'uuid="' in name]
    assert len(mine) <= MAX_SERIES_PER_DEVICE + 36
    assert any(name.startswith("accel_power_watts") for name in mine)
    dropped = found['accel_exporter_series_dropped_total{reason="device"}']
    assert dropped >= 500 - MAX_SERIES_PER_DEVICE


def test_error_codes_over_the_cap_fold_into_other() -> None:
    counts = tuple(
        EventCount(code=f"xid_{number}", category="other", total=2, last_time=NOW - number)
        for number in range(40)
    )
    text = render(snapshot(msgspec.structs.replace(view(0), event_counts=counts)))
    codes = [name for name in series(text) if name.startswith("accel_error_events_total")]
    assert len(codes) == 33
    assert sum(series(text)[name] for name in codes) == 80


def test_collect_keeps_the_requested_backends_and_ourselves() -> None:
    chosen = selection(backends=("amd",))
    found = series(render(snapshot(view(0)), chosen))
    assert not [name for name in found if 'uuid="' in name]
    assert any(name.startswith("accel_exporter_build_info") for name in found)


def test_a_suspended_device_says_so() -> None:
    asleep = msgspec.structs.replace(view(0), state=DeviceState.SUSPENDED)
    assert any(
        name.startswith("accel_device_suspended") for name in series(render(snapshot(asleep)))
    )


@pytest.mark.parametrize("wrong", [{"profile": "tiny"}, {"groups": ("piped",)}])
def test_unknown_selections_name_the_known(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="minimal, default|did you mean pipes"):
        selection(**wrong)  # type: ignore[arg-type]


def test_a_list_of_processes_that_was_cut_is_not_counted() -> None:
    whole = view(0)
    reading = msgspec.structs.replace(
        whole.reading, processes=processes(whole.device.id), notes=(cut_note(2, 100_000),)
    )
    text = render(snapshot(msgspec.structs.replace(whole, reading=reading)))
    counted = [line for line in text.splitlines() if line.startswith("accel_processes{")]
    assert counted == []


def test_a_node_over_its_cap_is_cut_at_the_series_and_the_cut_is_counted() -> None:
    links: dict[Series, Number] = {("link_up", "nvlink", str(number)): 1 for number in range(250)}
    views = [
        msgspec.structs.replace(
            view(0),
            device=device(number, id=f"nvidia:{number}", uuid=f"GPU-{number}"),
            reading=Reading(device_id=f"nvidia:{number}", values=links),
        )
        for number in range(MAX_SERIES_PER_NODE // 250 + 3)
    ]
    renderer = Renderer()
    found = series(renderer.render(snapshot(*views), selection(groups=("links",))))
    by_device = Counter(name.partition('uuid="')[2].partition('"')[0] for name in found)
    del by_device[""]
    sizes = list(by_device.values())
    assert sum(sizes[:-3]) == MAX_SERIES_PER_NODE
    assert sizes[-3:] == [3, 3, 3]
    assert found['accel_exporter_series_dropped_total{reason="node"}'] == 258 * 23 - sum(sizes)
