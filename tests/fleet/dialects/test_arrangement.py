"""What targets with pages alike share changes nothing of what any of them says."""

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from pathlib import Path

import msgspec
import pytest

from accelwatch.fleet.dialects import Foreign, read_devices
from accelwatch.fleet.dialects.base.table import (
    Dialect,
    FamilyMapping,
    Labels,
    Partition,
    Processes,
)
from accelwatch.fleet.dialects.foreign import TextSample
from accelwatch.fleet.dialects.ours.page import OURS
from accelwatch.fleet.dialects.plans import arrangement
from accelwatch.fleet.dialects.plans.arrangement import consulted_labels
from accelwatch.fleet.dialects.registry import DIALECTS
from support.machines.samples import FIXTURES

PAGES = sorted((FIXTURES / "fleet" / "dialects").glob("*.prom"))
FOREIGN = tuple(dialect for dialect in DIALECTS if dialect is not OURS)
NOW = 1_700_000_100.0
_OTHER = str.maketrans("0123456789abcdef", "1234567890bcdefa")


def of_another_node(page: str) -> str:
    """The page with other ids: digits of whatever stands between dashes, as in a uuid."""
    words = page.split('"')
    for at in range(1, len(words), 2):
        if words[at].count("-") >= 4:
            words[at] = words[at].translate(_OTHER)
    return '"'.join(words)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrangement, "_kept", {})


def alone(source: "str | Sequence[TextSample]") -> Foreign:
    """What is read where nothing is known of any other target."""
    arrangement._kept.clear()
    return read_devices(source, NOW)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_pages_of_two_nodes_are_read_as_each_by_itself(page: Path) -> None:
    text = page.read_text()
    expected = [alone(of_another_node(text)), alone(text)]
    assert read_devices(of_another_node(text), NOW) == expected[0]
    assert read_devices(text, NOW) == expected[1]


def _page(*uuids: str, model: str = "H100", where: str = "") -> str:
    return "".join(
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{at}",UUID="{uuid}",modelName="{model}",Hostname="n1"{where}}} 61\n'
        for at, uuid in enumerate(uuids)
    )


def test_a_second_node_takes_the_arrangement_of_the_first() -> None:
    first = read_devices(_page("GPU-1", "GPU-2"), NOW)
    second = read_devices(_page("GPU-3", "GPU-4"), NOW)
    assert len(arrangement._kept) == 1
    assert [view.device.uuid for view in first.devices] == ["GPU-1", "GPU-2"]
    assert [view.device.uuid for view in second.devices] == ["GPU-3", "GPU-4"]


def test_a_model_has_an_arrangement_of_its_own() -> None:
    # Whether a license counts depends on the model.
    read_devices(_page("GPU-1"), NOW)
    other = read_devices(_page("GPU-2", model="B200"), NOW)
    assert len(arrangement._kept) == 2
    assert [view.device.model for view in other.devices] == ["B200"]


def test_two_rows_of_one_device_are_no_two_devices() -> None:
    read_devices(_page("GPU-1", "GPU-2"), NOW)
    read = read_devices(_page("GPU-3", "GPU-3").replace('gpu="1"', 'gpu="0"'), NOW)
    assert [view.device.uuid for view in read.devices] == ["GPU-3"]


def test_a_page_with_owners_is_kept_for_nobody() -> None:
    read = read_devices(_page("GPU-1", where=',pod="train-0",namespace="ml"'), NOW)
    assert [owner.pod for owner in read.devices[0].owners] == ["train-0"]
    assert arrangement._kept == {}
    read = read_devices(_page("GPU-2"), NOW)
    assert read.devices[0].owners == ()


def test_a_page_with_processes_is_kept_for_nobody() -> None:
    table = FIXTURES / "fleet" / "dialects" / "nvitop.prom"
    read = read_devices(table.read_text(), NOW)
    assert any(view.reading.processes for view in read.devices)
    assert arrangement._kept == {}


def test_a_page_of_more_series_than_any_node_has_is_not_kept() -> None:
    read_devices(_page(*(f"GPU-{number}" for number in range(2049))), NOW)
    assert arrangement._kept == {}
    read_devices(_page(*(f"GPU-{number}" for number in range(1024))), NOW)
    assert len(arrangement._kept) == 1


def test_so_many_are_kept_and_no_more() -> None:
    for count in range(1, 65):
        read_devices(_page(*(f"GPU-{number}" for number in range(count))), NOW)
    assert len(arrangement._kept) == 64
    read_devices(_page(*(f"GPU-{number}" for number in range(65))), NOW)
    assert len(arrangement._kept) == 1


USED = Processes(rows=(), pid="pid", command="name", user="user")
EVERY = Dialect(
    name="every",
    vendor="",
    fingerprints=("a",),
    labels=Labels(tile="tile", job=("job",), job_user=("who",), job_queue=("queue",)),
    where={"scope": ("",)},
    partitions=(Partition(label="gi", within="ci", profile=("profile",), uuid=("mig",)),),
    processes=USED,
    rows=(
        FamilyMapping(name="a", target="clock_hertz.{domain}", where={"kind": ("x",)}),
        FamilyMapping(
            name="b", target="fan_speed_rpm.{fan}{side}", without={"off": "1"}, over="lane"
        ),
    ),
)


def test_what_is_consulted_is_what_tables_name() -> None:
    pods = {"namespace", "pod", "container"}
    assert set(consulted_labels(EVERY) or ()) == {
        *pods,
        *(f"exported_{name}" for name in pods),
        *("pod_uid", "tile", "job", "who", "queue", "scope", "gi", "ci", "profile", "mig"),
        *("pid", "name", "user", "domain", "kind", "fan", "side", "off", "lane"),
    }


def test_a_dialect_in_which_every_label_counts_shares_nothing() -> None:
    rows = (*EVERY.rows, FamilyMapping(name="c", target="power_watts", over="*"))
    assert consulted_labels(msgspec.structs.replace(EVERY, rows=rows)) is None


def _ids(dialect: Dialect, device: int) -> dict[str, str]:
    """The labels by which a dialect's samples name a device."""
    labels = dialect.labels
    named = {
        **dict.fromkeys(labels.name[:1], f"dev{device}"),
        **dict.fromkeys(labels.index[:1], str(device)),
        **dict.fromkeys(labels.pci[:1], f"0000:0{device + 1}:00.0"),
        **dict.fromkeys(labels.uuid[:1], f"GPU-{device}"),
    }
    return {**dialect.required, **{label: value for label, value in named.items() if label}}


def _rows_with(dialect: Dialect, label: str) -> list[FamilyMapping]:
    """Some of the rows that look at a label by themselves; any row where the dialect does for all."""
    own = [
        row
        for row in dialect.rows
        if label in (*row.where, *row.without, row.over) or f"{{{label}}}" in row.target
    ]
    return own[:3] or list(dialect.rows[:1])


def _page_of(dialect: Dialect, row: FamilyMapping, more: Mapping[str, str]) -> list[TextSample]:
    """Two devices, and a sample of the row about the first of them."""
    fingerprint = dialect.fingerprints[0].rstrip("*")
    fitting = {label: values[0] for label, values in row.where.items()}
    labels = {**_ids(dialect, 0), **fitting, **more}
    devices = [TextSample(fingerprint, _ids(dialect, device), 1) for device in range(2)]
    return [*devices, TextSample(row.name, labels, 2)]


@pytest.mark.parametrize("dialect", FOREIGN, ids=lambda dialect: dialect.name)
def test_every_label_that_locates_a_sample_distinguishes_pages(dialect: Dialect) -> None:
    used = dialect.processes.families() if dialect.processes else ()
    for label in sorted(consulted_labels(dialect) or ()):
        rows = [
            *_rows_with(dialect, label),
            *(FamilyMapping(name=name, target="") for name in used[:1]),
        ]
        wanted = {value for row in rows for value in row.where.get(label, ())}
        for row, (one, other) in product(rows, permutations({"", "1", "2", "x", *wanted}, 2)):
            page = _page_of(dialect, row, {label: other})
            expected = alone(page)
            alone(_page_of(dialect, row, {label: one}))
            assert read_devices(page, NOW) == expected, (label, row.name, one, other)


@pytest.mark.parametrize("dialect", FOREIGN, ids=lambda dialect: dialect.name)
def test_a_sample_of_another_device_is_another_page(dialect: Dialect) -> None:
    for row in dialect.rows:
        page = _page_of(dialect, row, _ids(dialect, 1))
        expected = alone(page)
        alone(_page_of(dialect, row, {}))
        assert read_devices(page, NOW) == expected, row.name


@pytest.mark.parametrize("device", ["GPU-0", "GPU-1"])
def test_a_process_of_a_device_is_another_page_than_one_of_none(device: str) -> None:
    """The uuid of the device that it uses stands apart from those that say whose sample it is."""
    (dialect,) = [dialect for dialect in FOREIGN if dialect.name == "all-smi"]
    row = FamilyMapping(name="all_smi_process_memory_used_bytes", target="")
    used = {"pid": "7", "device_uuid": device, "gpu_uuid": ""}
    page = _page_of(dialect, row, used)
    expected = alone(page)
    assert any(view.reading.processes for view in expected.devices)
    alone(_page_of(dialect, row, {**used, "device_uuid": "none"}))
    assert len(arrangement._kept) == 1
    assert read_devices(page, NOW) == expected
