"""How relatives of nvidia-smi print their GPUs: text, JSON, tables, whole, cut and damaged."""

import contextlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.backend.kit.smi.formats import Json, Table, Text
from accelwatch.backend.kit.smi.processes import processes_of
from accelwatch.backend.kit.smi.table import Columns
from accelwatch.backend.kit.text.quantity import BYTES
from accelwatch.base.errors import ReadError
from support.machines.samples import FIXTURES

MIB = 1 << 20
JSON, TEXT = Json("x-smi"), Text("x-smi")
TABLE = Table(
    program="x-smi",
    columns=Columns(first=("id", "name"), address="pcie", cells={"temp": "temperature/gpu"}),
)


@pytest.mark.parametrize(
    ("head", "number"), [("GPU3 00000000:01:00.0", 3), ("GPU 00000000:01:00.0", 0)]
)
def test_the_heading_of_a_gpu(head: str, number: int) -> None:
    (gpu,) = TEXT.parse(f"{head}\n    Product Name : MTT S80\n".encode()).gpus
    assert (gpu.number, gpu.pci_bus_id) == (number, "0000:01:00.0")
    by_order = Text("x-smi", numbered=False)
    (gpu,) = by_order.parse(f"{head}\n    Product Name : MTT S80\n".encode()).gpus
    assert gpu.number == 0


@pytest.mark.parametrize(
    "address", [{"PCI": {"PCI/Bus ID": "00000000:2a:00.0"}}, {"Bus ID": "2A:00.0"}]
)
def test_the_address_under_other_keys(address: dict[str, object]) -> None:
    (gpu,) = JSON.parse(msgspec.json.encode({"GPU": [{"Index": "0", **address}]})).gpus
    assert gpu.pci_bus_id == "0000:2a:00.0"


def test_rows_of_one_process_are_taken_together() -> None:
    jobs = TABLE.parse(
        b"Processes:\n0  42  python3 a.py  12MiB\n0  42  python3 a.py  30 MiB\n"
        b"0  43  x  1MiB\n0  43  x  N/A\n0  0  nobody  1MiB\n"
    ).jobs
    assert jobs is not None
    assert [(p.pid, p.gpu_memory_bytes) for p in processes_of("d", jobs, BYTES)] == [
        (42, 42 * MIB),
        (43, None),
    ]


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("| Processes:     |\n| No running processes found |\n", True),
        ("Processes:\nID PID\nwhat is this\n", False),
    ],
)
def test_whether_processes_are_known(text: str, is_known: bool) -> None:
    assert (TABLE.parse(text.encode()).jobs is not None) is is_known


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
_KEYS = (
    "Index",
    "GPU UUID",
    "PCI",
    "Bus ID",
    "Utilization",
    "Gpu",
    "FB Memory Usage",
    "Total",
    "Fan",
)
BLOCK = st.dictionaries(
    st.sampled_from(_KEYS), _ANY | st.dictionaries(st.sampled_from((*_KEYS, "Fan0")), _ANY)
)


@given(st.lists(BLOCK | _ANY, max_size=3), _ANY)
@settings(max_examples=30)
def test_damaged_documents_raise_nothing_untyped(gpus: list[object], version: object) -> None:
    listing = JSON.parse(msgspec.json.encode({"GPU": gpus, "Driver Version": version}))
    assert len(listing.gpus) <= len(gpus)


@given(st.integers(0, 4000))
def test_a_json_that_was_cut_is_an_error_or_complete(length: int) -> None:
    complete = (FIXTURES / "mthreads/s5000-x2.json").read_bytes()
    with contextlib.suppress(ReadError):
        assert JSON.parse(complete[:length]) == JSON.parse(complete)
