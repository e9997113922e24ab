"""A plan that targets share is the one that each would have by itself."""

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from pathlib import Path

import pytest

from accelwatch.exposition import alike as shapes
from accelwatch.exposition import reader
from accelwatch.fleet.dialects import Foreign, ForeignReader, alike
from accelwatch.fleet.dialects.alike import needed_labels
from accelwatch.fleet.dialects.base.table import Dialect, FamilyMapping
from accelwatch.fleet.dialects.ours.page import OURS
from accelwatch.fleet.dialects.page_plan import PageOutline
from accelwatch.fleet.dialects.plans import arrangement
from accelwatch.fleet.dialects.plans.arrangement import consulted_labels
from accelwatch.fleet.dialects.registry import DIALECTS
from support.machines.samples import FIXTURES

PAGES = sorted((FIXTURES / "fleet" / "dialects").glob("*.prom"))
FOREIGN = tuple(dialect for dialect in DIALECTS if dialect is not OURS)
NOW = 1_700_000_100.0
_OTHER = str.maketrans("0123456789abcdef", "1234567890bcdefa")
_ANOTHER = str.maketrans("0123456789abcdef", "2345678901cdefab")


# Plans of pages with signs, None for those that are shared with nobody.
_made: list[object] = []


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    make = alike._shared

    def noted(outline: PageOutline) -> object:
        _made.append(make(outline))
        return _made[-1]

    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        patch.setattr(alike, "_shared", noted)
        _made.clear()
        yield


def forget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reader, "SHAPES", shapes.Shapes())  # and so of their plans
    patch.setattr(arrangement, "_kept", {})


def read(page: str) -> Foreign:
    """The page, read twice, which must give the same."""
    target = ForeignReader()
    first = target.read(page, NOW)
    assert target.read(page, NOW) == first
    return first


def alone(page: str) -> Foreign:
    """What is read where no other page is known."""
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        return read(page)


def with_other(page: str, table: Mapping[int, int]) -> str:
    """The page of another node: other digits wherever a label value has four dashes or more."""
    words = page.split('"')
    for at in range(1, len(words), 2):
        if words[at].count("-") >= 4:
            words[at] = words[at].translate(table)
    return '"'.join(words)


def shared() -> list[object]:
    """The plans that others may take."""
    return [plan for plan in _made if plan is not None]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_pages_of_three_nodes_are_read_as_each_by_itself(page: Path) -> None:
    text = page.read_text()
    nodes = [with_other(text, _OTHER), with_other(text, _ANOTHER), text]
    expected = [alone(node) for node in nodes]
    # The first is parsed, the second planned, and the third takes that plan.
    assert [read(node) for node in nodes] == expected


def _page(*uuids: str, node: str = "n1", model: str = "H100", more: str = "") -> str:
    return "".join(
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{at}",UUID="{uuid}",modelName="{model}",'
        f'Hostname="{node}"{more}}} 61\n'
        for at, uuid in enumerate(uuids)
    )


def test_nodes_share_a_plan_and_keep_their_devices() -> None:
    for node in range(5):
        result = read(_page(f"GPU-{node}-0", f"GPU-{node}-1", node=f"n{node}"))
        assert [view.device.uuid for view in result.devices] == [f"GPU-{node}-0", f"GPU-{node}-1"]
        assert [view.device.index for view in result.devices] == [0, 1]
    assert len(shared()) == len(_made) == 1


def test_another_model_is_another_plan() -> None:
    for node, model in enumerate(("H100", "H100", "B200")):
        result = read(_page(f"GPU-{node}", node=f"n{node}", model=model))
        assert result.devices[0].device.model == model
    assert len(shared()) == 2


@pytest.mark.parametrize(
    "uuids",
    [
        pytest.param(("GPU-a", "GPU-a"), id="two devices with one uuid"),
        pytest.param(("GPU-a", "gpu-A"), id="one uuid in two spellings"),
        pytest.param(("GPU-a", " GPU-a"), id="and with a blank"),
        pytest.param(("GPU-a", "N/A"), id="no uuid"),
        pytest.param(("GPU-a", ""), id="an empty uuid"),
        pytest.param(("GPU-a", " GPU-b"), id="a uuid behind a blank"),
        pytest.param(("H100", "h100"), id="the model's name in two spellings"),
    ],
)
def test_a_uuid_that_says_more_is_looked_at(uuids: tuple[str, str]) -> None:
    page = _page(*uuids, node="n3")
    expected = alone(page)
    for node in range(3):
        read(_page(f"GPU-{node}-0", f"GPU-{node}-1", node=f"n{node}"))
    assert shared()
    assert read(page) == expected


def test_a_uuid_that_names_a_slot_is_checked() -> None:
    (dialect,) = [dialect for dialect in FOREIGN if dialect.name == "all-smi"]
    assert dialect.labels.positional

    def page(uuid: str, node: str) -> str:
        labels = f'gpu="X",instance="{node}",gpu_uuid="{uuid}",gpu_index="0"'
        return f"all_smi_gpu_utilization{{{labels}}} 1\nall_smi_gpu_temperature_celsius{{{labels}}} 2\n"

    expected = alone(page("GPU-0000:41:00.0", "n3"))
    for node in range(3):
        read(page(f"6d41-{node}", f"n{node}"))
    assert shared()
    assert read(page("GPU-0000:41:00.0", "n3")) == expected


def test_pods_are_of_one_node_only() -> None:
    for node in range(3):
        result = read(_page(f"GPU-{node}", more=f',pod="train-{node}",namespace="ml"'))
        assert [owner.pod for owner in result.devices[0].owners] == [f"train-{node}"]
    assert not shared()


def test_processes_are_of_one_node_only() -> None:
    lines = (
        (FIXTURES / "fleet" / "dialects" / "all_smi_processes.prom").read_text().splitlines(True)
    )
    text = "".join(line for line in lines if '""' not in line)
    for node in "bcd":
        result = read(text.replace("GPU-aa", f"{node}{node}").replace("box", node))
        assert any(view.reading.processes for view in result.devices)
    assert _made
    assert not shared()


def test_a_model_that_looks_like_a_sign_is_itself() -> None:
    for node in range(3):
        result = read(_page(f"GPU-{node}", node=f"n{node}", model="\0" + "0"))
        assert result.devices[0].device.model == "\0" + "0"


def test_our_own_agents_are_read_each_by_itself() -> None:
    page = (
        'accel_device_info{vendor="nvidia",device="nvidia0",uuid="%s"} 1\n'
        'accel_power_watts{vendor="nvidia",device="nvidia0",uuid="%s"} 300\n'
    )
    for node in range(3):
        result = read(page.replace("%s", f"GPU-{node}"))
        assert [view.device.uuid for view in result.devices] == [f"GPU-{node}"]
    assert not _made


@pytest.mark.parametrize("dialect", FOREIGN, ids=lambda dialect: dialect.name)
def test_what_locates_a_sample_is_used(dialect: Dialect) -> None:
    assert needed_labels(dialect) >= (consulted_labels(dialect) or frozenset())
    labels = dialect.labels
    identities = (
        *labels.index,
        *labels.name,
        *labels.model,
        *labels.driver,
        *labels.kind,
        *labels.pci,
    )
    assert needed_labels(dialect) >= {*identities, *dialect.required}
    for row in dialect.host:
        assert needed_labels(dialect) >= {*row.where, *row.without, row.over, *row.value_names}


def _ids(dialect: Dialect, node: str, device: int) -> dict[str, str]:
    """The labels by which a dialect's samples name a device of a node."""
    labels = dialect.labels
    named = {
        "somewhere": node,
        **dict.fromkeys(labels.name[:1], f"dev{device}"),
        **dict.fromkeys(labels.index[:1], str(device)),
        **dict.fromkeys(labels.pci[:1], f"0000:0{device + 1}:00.0"),
        **dict.fromkeys(labels.serial[:1], f"S{node}{device}"),
        **dict.fromkeys(labels.uuid[:1], f"GPU-{node}-{device}"),
    }
    return {**dialect.required, **{label: value for label, value in named.items() if label}}


def _line(name: str, labels: Mapping[str, str], number: int) -> str:
    pairs = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{name}{{{pairs}}} {number}\n"


def _page_of(dialect: Dialect, node: str, row: FamilyMapping, more: Mapping[str, str]) -> str:
    """Two devices, and a sample of the row about the first of them."""
    fingerprint = dialect.fingerprints[0].rstrip("*")
    fitting = {label: values[0] for label, values in row.where.items()}
    devices = [_line(fingerprint, _ids(dialect, node, device), 1) for device in range(2)]
    return "".join([*devices, _line(row.name, {**_ids(dialect, node, 0), **fitting, **more}, 2)])


@pytest.mark.parametrize("dialect", FOREIGN, ids=lambda dialect: dialect.name)
def test_a_label_of_another_value_is_never_taken_for_the_same(dialect: Dialect) -> None:
    for row in (*dialect.rows, *dialect.host):
        names = {*row.where, *row.without, row.over} - {"", "*"}
        names |= {piece.partition("}")[0] for piece in row.target.split("{")[1:]}
        for label, (one, other) in product(sorted(names), permutations(("", "1", "x"), 2)):
            page = _page_of(dialect, "c", row, {label: other})
            expected = alone(page)
            for node in ("a", "b"):
                read(_page_of(dialect, node, row, {label: one}))
            assert read(page) == expected, (label, row.name, one, other)
