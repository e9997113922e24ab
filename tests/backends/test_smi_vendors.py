"""What holds for each relative of nvidia-smi: a table of vendors, and what is the kit's tested once."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.backend import Backend, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.smi.listing import Listing
from accelwatch.backend.kit.smi.vendor import SmiVendor
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Number
from accelwatch_iluvatar.vendor import VENDOR as ILUVATAR
from accelwatch_mthreads.vendor import VENDOR as MTHREADS
from accelwatch_thead.vendor import VENDOR as THEAD
from backends.hygon import machines as hygon
from backends.iluvatar import machines as iluvatar
from backends.metax import machines as metax
from backends.mthreads import machines as mthreads
from backends.thead import machines as thead
from support.machines.polling import Poll, readings
from support.machines.samples import FIXTURES
from support.machines.staged_machines import Stage


class Case(NamedTuple):
    """A machine of the vendor, its program, and what is on the bus beside its devices."""

    stage: Callable[[Path], contextlib.AbstractContextManager[Stage]]
    program: str
    other_class: str
    module: str
    # Words of the error of a program that fails.
    complaint: str = ""
    # The file with the table of processes.
    table: str = ""
    celsius: float = 0.0


MACHINES = {
    "iluvatar": Case(
        lambda folder: iluvatar.staged(folder, "bi-v150-x2"),
        "usr/local/corex/bin/ixsmi",
        "0x060400",
        "iluvatar",
        "-q -x ended with status 255: no driver",
        "ix.txt",
        61.0,
    ),
    "mthreads": Case(
        lambda folder: mthreads.staged(folder, "s5000-x2"),
        "usr/bin/mthreads-gmi",
        "0x060400",
        "mtgpu",
        "-q --json ended with status 255: no driver",
        "gmi.txt",
        61.0,
    ),
    "thead": Case(
        lambda folder: thead.staged(folder, "zw810e-x2"),
        "usr/local/PPU_SDK/bin/ppu-smi",
        "0x010802",
        "alixpu",
        "-q ended with status 255: no driver",
        "ppu.txt",
        61.0,
    ),
    "hygon": Case(
        lambda folder: hygon.stage(folder, "k100ai-x2"),
        "opt/hyhal/bin/hy-smi",
        "0x060400",
        "hydcu",
    ),
    "metax": Case(
        lambda folder: metax.stage(folder, "c500-x2"),
        "opt/mxdriver/bin/mx-smi",
        "0x060400",
        "metax",
    ),
}
# Whose driver is a sign of devices only where the bus is hidden.
HIDDEN_BUS = ["hygon", "metax"]
OWN_FORMATS = ["iluvatar", "mthreads", "thead"]


@contextlib.contextmanager
def opened(folder: Path, case: Case) -> Iterator[tuple[Stage, Backend]]:
    with case.stage(folder) as machine:
        backend = machine.backend()
        backend.open()
        yield machine, backend
        backend.close()


@pytest.mark.parametrize("case", MACHINES.values(), ids=MACHINES)
def test_processes_were_not_requested(tmp_path: Path, case: Case) -> None:
    with opened(tmp_path, case) as (_, backend):
        device = backend.identify(backend.discover()[0])[0]
        readings = backend.read(device, Request(processes=False))
    assert readings
    assert {one.absent["processes",] for one in readings} == {Absence.NOT_COLLECTED}


@pytest.mark.parametrize("case", MACHINES.values(), ids=MACHINES)
def test_without_the_command_it_says_what_to_install(tmp_path: Path, case: Case) -> None:
    with case.stage(tmp_path) as machine:
        program = tmp_path / case.program
        program.unlink()
        with pytest.raises(BackendUnavailable, match=f"{program.name} was found neither") as error:
            machine.backend().open()
    assert "install" in error.value.remedy


@pytest.mark.parametrize("case", [MACHINES[name] for name in OWN_FORMATS], ids=OWN_FORMATS)
def test_complaints_of_the_command_are_reported(tmp_path: Path, case: Case) -> None:
    with case.stage(tmp_path) as machine:
        (tmp_path / case.program).write_text("#!/bin/sh\necho 'no driver' >&2; exit 255\n")
        backend = machine.backend()
        backend.open()
        with pytest.raises(ReadError, match=case.complaint):
            backend.identify(backend.discover()[0])
        backend.close()


@pytest.mark.parametrize("case", [MACHINES[name] for name in OWN_FORMATS], ids=OWN_FORMATS)
def test_other_functions_of_the_vendor_are_no_devices(tmp_path: Path, case: Case) -> None:
    """Of Moore Threads the machine has its audio beside each GPU."""
    with case.stage(tmp_path) as machine:
        (tmp_path / "sys/module" / case.module).rmdir()
        backend = machine.backend()
        assert backend.probe().present
        for folder in (tmp_path / "sys/bus/pci/devices").iterdir():
            if "0x0403" not in (folder / "class").read_text():
                (folder / "class").write_text(f"{case.other_class}\n")
        assert not backend.probe().present


@pytest.mark.parametrize("case", [MACHINES[name] for name in OWN_FORMATS], ids=OWN_FORMATS)
def test_without_its_table_processes_are_absent_and_numbers_are_not(
    tmp_path: Path, case: Case
) -> None:
    with opened(tmp_path, case) as (machine, backend):
        (tmp_path / case.table).unlink()
        machine.clock.advance(10)
        first = readings(Poll(machine.clock)(backend))[0]
    assert first.absent["processes",] is Absence.ERROR
    assert first.values["temperature_celsius", "gpu"] == case.celsius


@pytest.mark.parametrize("case", [MACHINES[name] for name in HIDDEN_BUS], ids=HIDDEN_BUS)
@pytest.mark.parametrize(
    ("hidden", "loaded", "present"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_where_the_bus_is_hidden_the_driver_is_the_sign(
    tmp_path: Path, case: Case, hidden: bool, loaded: bool, present: bool
) -> None:
    with case.stage(tmp_path) as machine:
        shutil.rmtree(tmp_path / "sys")
        if not hidden:
            (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
        if loaded:
            (tmp_path / "sys/module" / case.module).mkdir(parents=True)
        assert machine.backend().probe().present is present


@pytest.mark.parametrize("case", MACHINES.values(), ids=MACHINES)
def test_what_only_the_command_lists_is_read(tmp_path: Path, case: Case) -> None:
    """As in a container that hides the bus."""
    with case.stage(tmp_path) as machine:
        shown = machine.backend()
        shown.open()
        on_bus = [device.pci_bus_id for device in shown.discover()]
        shown.close()
        shutil.rmtree(tmp_path / "sys/bus")
        backend = machine.backend()
        backend.open()
        polled = Poll(machine.clock)(backend)
        backend.close()
    assert [one.error for one in polled] == [None, None]
    assert [one.identity[0].pci_bus_id for one in polled] == on_bus


TABLES = {vendor.name: vendor for vendor in (ILUVATAR, MTHREADS, THEAD)}
_NO_DOCUMENT = {
    "nothing": b"",
    "a list": b"[]",
    "an object": b"{}",
    "no list of GPUs": b'{"GPU": 5}',
    "no UTF-8": b"\xff",
    "deep JSON": b"[" * 100_000,
    "deep XML": b"<a>" * 100_000,
    "an XML that was cut": b"<ixsmi_log>",
    "another XML": b"<other></other>",
    "a word": b"PPU",
    "words": b"GPU 0\n" * 1000,
}


@pytest.mark.parametrize("output", _NO_DOCUMENT.values(), ids=_NO_DOCUMENT)
@pytest.mark.parametrize("name", TABLES)
def test_what_is_no_document_is_an_error(name: str, output: bytes) -> None:
    vendor = TABLES[name]
    for document in (*(query.format for query in vendor.queries), vendor.table):
        with pytest.raises(ReadError, match=vendor.command.names[0]):
            document.parse(output)


def values(vendor: SmiVendor, listing: Listing) -> dict[int, dict[tuple[str, ...], Number]]:
    """By index, what is read of those that are not lost."""
    by_number = {}
    for gpu in listing.gpus:
        device = Device(id="d", vendor="v", backend="b", index=gpu.number, name="n")
        with contextlib.suppress(DeviceLost):
            by_number[gpu.number] = dict(vendor.reading(device, gpu).values)
    return by_number


DOCUMENTS = {
    "iluvatar/bi-v150-x2.xml": ILUVATAR.queries[0].format.parse,
    "iluvatar/mr-v100.query": ILUVATAR.queries[1].format.parse,
    "iluvatar/bi-v150-x2.txt": ILUVATAR.table.parse,
    "iluvatar/bi-v100-bad-day.txt": ILUVATAR.table.parse,
    "mthreads/s80.query": MTHREADS.queries[1].format.parse,
    "mthreads/s80.txt": MTHREADS.table.parse,
    "mthreads/s5000-x2.txt": MTHREADS.table.parse,
    "thead/zw810e-x2.query": THEAD.queries[0].format.parse,
    "thead/zw810e-x2.txt": THEAD.table.parse,
    "thead/zw810e-x12.txt": THEAD.table.parse,
}
# Errors of SRAM and of DRAM are one sum, which is smaller where one of them was cut off.
_MAY_DIFFER = {"thead/zw810e-x2.query"}


@pytest.mark.parametrize("file", DOCUMENTS)
@given(data=st.data())
@settings(max_examples=30)
def test_a_document_that_was_cut_or_shuffled_invents_nothing(
    file: str, data: st.DataObject
) -> None:
    parse, vendor = DOCUMENTS[file], TABLES[file.partition("/")[0]]
    complete = (FIXTURES / file).read_bytes()
    true = values(vendor, parse(complete))
    cut = complete[: complete.rfind(b"\n", 0, data.draw(st.integers(0, len(complete)))) + 1]
    with contextlib.suppress(ReadError):
        for number, read in values(vendor, parse(cut)).items():
            expected = true.get(number, read)
            if file in _MAY_DIFFER:
                assert read.keys() <= expected.keys()
            else:
                assert read.items() <= expected.items()
    lines = data.draw(st.permutations(complete.splitlines()[:80]))
    with contextlib.suppress(ReadError):
        values(vendor, parse(b"\n".join(lines)))


@given(st.text(alphabet="|0123456789 MiBWC%/N.A+-\nGPUName", max_size=300))
def test_damaged_tables_raise_nothing_untyped(text: str) -> None:
    for vendor in TABLES.values():
        with contextlib.suppress(ReadError):
            values(vendor, vendor.table.parse(text.encode()))


@pytest.mark.parametrize("file", ["iluvatar/mr-v100.query", "mthreads/s80.query"])
def test_a_query_that_lost_its_indentation_says_the_same(file: str) -> None:
    parse, vendor = DOCUMENTS[file], TABLES[file.partition("/")[0]]
    complete = (FIXTURES / file).read_bytes()
    flat = b"".join(line.strip() + b"\n" for line in complete.splitlines())
    (gpu,), (indented,) = parse(flat).gpus, parse(complete).gpus
    device = Device(id="d", vendor="v", backend="b", index=0, name="n")
    assert vendor.reading(device, gpu) == vendor.reading(device, indented)
    assert vendor.identified(device, gpu, None) == vendor.identified(device, indented, None)
