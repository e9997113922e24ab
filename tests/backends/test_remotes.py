"""What backends make of commands that ran on another machine, over the outputs of the fixtures."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from accelwatch.backend.kit.remote import CommandOutput, Outputs, Remote, RemotelyRead, RemoteRow
from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.base.errors import (
    AccelwatchError,
    DeviceLost,
    DevicePermission,
    DeviceTimeout,
    ReadError,
)
from accelwatch.node.sampler.turns.contract import sound_devices, sound_readings
from accelwatch.plugins import entry_points as plugins
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.reading import Reading
from support.machines.samples import FIXTURES

BACKENDS, FAILURES = plugins.load_all(plugins.BACKENDS)
REMOTES: dict[str, Remote] = {
    name: plugins.load_address(backend.remote)
    for name, backend in BACKENDS.items()
    if isinstance(backend, RemotelyRead)
}


class Machine(NamedTuple):
    """Files of the fixtures by the keys of commands, and the names of the devices that they list."""

    files: Mapping[str, str]
    names: tuple[str, ...]


MACHINES: Mapping[str, Machine] = {
    "nvidia": Machine({"query": "h100x2/nvidia-smi.xml"}, ("nvidia0", "nvidia1")),
    "rebellions": Machine({"smi": "atom-x2.json"}, ("rbln0", "rbln1")),
    "ascend": Machine({"info": "910b4-x2.txt", "map": "910b4-x2.map"}, ("ascend1", "ascend0")),
    "furiosa": Machine(
        {"info": "rngd-x2/info.json", "status": "rngd-x2/status.json", "ps": "rngd-x2/ps.txt"},
        ("npu0", "npu1"),
    ),
    "gaudi": Machine(
        {"query": "gaudi2-x2/query.csv", "table": "gaudi2-x2/table.txt"}, ("hl0", "hl1")
    ),
    "tenstorrent": Machine({"snapshot": "p150-smi-bad-day.txt"}, ("tt0", "tt1", "tt2")),
    "qualcomm": Machine({"query": "ai100-x2.txt"}, ("qaic0", "qaic1")),
    "cambricon": Machine(
        {"info": "mlu370x8-x2.info", "table": "mlu370x8-x2.txt"}, ("mlu0", "mlu1")
    ),
    "mthreads": Machine({"query": "s5000-x2.json", "table": "s5000-x2.txt"}, ("mtgpu0", "mtgpu1")),
    "iluvatar": Machine(
        {"query": "bi-v150-x2.xml", "table": "bi-v150-x2.txt"}, ("iluvatar0", "iluvatar1")
    ),
    "hygon": Machine(
        {
            "fields": "k100ai-x2/fields.json",
            "table": "k100ai-x2/table.txt",
            "health": "k100ai-x2/health.txt",
            "processes": "k100ai-x2/pids.txt",
        },
        ("dcu0", "dcu1"),
    ),
    "metax": Machine(
        {
            "table": "c500-x2/table.txt",
            "list": "c500-x2/list.txt",
            "sections": "c500-x2/sections.txt",
            "ecc": "c500-x2/ecc.txt",
        },
        ("metax0", "metax1"),
    ),
    "thead": Machine({"query": "zw810e-x2.query", "table": "zw810e-x2.txt"}, ("ppu0", "ppu1")),
}


def outputs_of(name: str, *, only: str = "", status: int = 0, errors: str = "") -> Outputs:
    """A round on the machine; `only` this command ends well, and all others with status 1."""
    folder, machine = Path(FIXTURES) / name, MACHINES[name]
    printed: dict[str, CommandOutput] = {}
    for command in REMOTES[name].commands:
        if command.if_fails:
            continue
        file = machine.files.get(command.key)
        well = file is not None and not status and only in ("", command.key)
        printed[command.key] = CommandOutput(
            program=f"/usr/bin/{command.programs[0]}",
            output=(folder / file).read_bytes() if well and file is not None else b"",
            errors="" if well else errors or "not known",
            status=0 if well else status or 1,
        )
    return printed


def test_every_backend_that_reads_elsewhere_is_tried_here() -> None:
    assert not FAILURES
    assert set(REMOTES) == set(MACHINES)


@pytest.mark.parametrize("name", sorted(REMOTES))
def test_commands_are_plain_words_and_paths(name: str) -> None:
    remote = REMOTES[name]
    for command in remote.commands:
        assert re.fullmatch("[a-z0-9]+", command.key)
        assert command.programs
        assert all(re.fullmatch("[a-z0-9-]+", program) for program in command.programs)
        assert all(folder.startswith("/") for folder in command.folders)
    assert len({command.key for command in remote.commands}) == len(remote.commands)
    assert all(re.fullmatch("[0-9a-f]{4}", vendor) for vendor in remote.pci_vendors)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_devices_and_numbers_of_a_machine(name: str) -> None:
    rows = REMOTES[name].reader().read(outputs_of(name))
    devices = sound_devices([device for device, _ in rows])
    assert tuple(device.name for device in devices) == MACHINES[name].names
    assert isinstance(rows[0][1], Reading)
    assert any(series[0] == "temperature_celsius" for series in rows[0][1].values)
    for device, outcome in rows:
        assert device.backend == name
        assert device.kind in (DeviceKind.GPU, DeviceKind.NPU)
        assert device.numa_node is None or device.backend in ("rebellions", "hygon")
        assert isinstance(outcome, Reading), outcome
        (reading,) = sound_readings([outcome], (device,), frozenset())
        assert reading.values
        assert reading.sources["*"]
        assert not reading.implausible


@pytest.mark.parametrize(
    ("name", "key"), [("qualcomm", "query"), ("iluvatar", "table"), ("ascend", "info")]
)
def test_what_was_cut_has_no_number_that_the_whole_has_not(name: str, key: str) -> None:
    outputs = outputs_of(name)
    complete = outputs[key].output
    whole = dict(_facts(REMOTES[name].reader().read(outputs)))
    for length in range(1, len(complete)):
        cut = {**outputs, key: msgspec.structs.replace(outputs[key], output=complete[:length])}
        try:
            rows = REMOTES[name].reader().read(cut)
        except ReadError:
            continue
        assert set(_facts(rows)) <= whole.items(), length


def _facts(rows: Sequence[RemoteRow]) -> Iterator[tuple[object, object]]:
    for device, outcome in rows:
        assert isinstance(outcome, Reading)
        bus = device.pci_bus_id
        if bus is None:
            continue
        yield from (((bus, series), value) for series, value in outcome.values.items())
        for process in outcome.processes or ():
            yield (bus, process.pid), (process.command, process.gpu_memory_bytes)


@pytest.mark.parametrize("name", ["cambricon", "gaudi", "iluvatar", "mthreads", "thead"])
def test_a_device_stays_the_same_while_only_the_table_is_reported(name: str) -> None:
    reader = REMOTES[name].reader()
    before = [device for device, _ in reader.read(outputs_of(name))]
    assert [device for device, _ in reader.read(outputs_of(name, only="table"))] == before
    assert [device for device, _ in reader.read(outputs_of(name))] == before


AROUND: Mapping[str, Callable[[bytes], bytes]] = {
    "colours": lambda content: b"\n".join(
        b"\x1b[32m%s\x1b[0m" % line for line in content.split(b"\n")
    ),
    "mark of the encoding": lambda content: b"\xef\xbb\xbf" + content,
    "a Windows shell": lambda content: content.decode().encode("utf-16"),
    "other ends of lines": lambda content: content.replace(b"\n", b"\r\n"),
    "a warning before it": lambda content: b"WARNING: an {old} driver [1]\n" + content,
    "a log line before it": lambda content: b"[2026-01-02 03:04:05] warn: a = b | c\n\n" + content,
    "a warning below it": lambda content: content + b"\nWARNING: infoROM is corrupted\n",
    "NULs": lambda content: content + b"\0\0",
}


@pytest.mark.parametrize("what", AROUND)
@pytest.mark.parametrize("name", sorted(MACHINES))
def test_what_stands_around_a_document_costs_nothing(name: str, what: str) -> None:
    outputs = outputs_of(name)
    around = {
        key: msgspec.structs.replace(result, output=AROUND[what](result.output))
        if result.output
        else result
        for key, result in outputs.items()
    }
    reader = REMOTES[name].reader
    assert list(reader().read(around)) == list(reader().read(outputs))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("ascend", "info"),
        ("cambricon", "table"),
        ("iluvatar", "table"),
        ("mthreads", "table"),
        ("thead", "table"),
    ],
)
def test_a_warning_between_the_lines_of_a_table_costs_nothing(name: str, key: str) -> None:
    outputs = outputs_of(name)
    whole = list(REMOTES[name].reader().read(outputs))
    lines = outputs[key].output.splitlines(keepends=True)
    for at in range(len(lines)):
        with_warning = b"".join(
            [*lines[:at], b"WARNING: the driver is older than 2 years\n", *lines[at:]]
        )
        around = {**outputs, key: msgspec.structs.replace(outputs[key], output=with_warning)}
        assert list(REMOTES[name].reader().read(around)) == whole, at


def ended(outputs: Outputs, status: int) -> Outputs:
    """The same words of commands that ended with this status."""
    return {key: msgspec.structs.replace(result, status=status) for key, result in outputs.items()}


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_a_whole_document_counts_whatever_the_status(name: str) -> None:
    """As while one card is not well; of a command that was killed or is late nothing counts."""
    outputs = outputs_of(name)
    well = REMOTES[name].reader().read(outputs)
    rows = REMOTES[name].reader().read(ended(outputs, 3))
    assert [device.name for device, _ in rows] == list(MACHINES[name].names)
    for (_, one), (_, other) in zip(well, rows, strict=True):
        assert isinstance(one, Reading)
        assert isinstance(other, Reading)
        assert other.values == one.values


@pytest.mark.parametrize("status", [124, 126, 139])
@pytest.mark.parametrize("name", sorted(set(MACHINES) - {"nvidia"}))
def test_of_a_command_that_was_killed_nothing_counts(name: str, status: int) -> None:
    with pytest.raises(ReadError):
        REMOTES[name].reader().read(ended(outputs_of(name), status))


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_processes_say_nothing_of_who_has_that_number_here(name: str) -> None:
    for _, outcome in REMOTES[name].reader().read(outputs_of(name)):
        assert isinstance(outcome, Reading)
        for process in outcome.processes or ():
            details = (
                process.user,
                process.start_time,
                process.container,
                process.host_memory_bytes,
            )
            assert set(details) == {None}


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("gaudi", "query"),
        ("gaudi", "table"),
        ("cambricon", "info"),
        ("cambricon", "table"),
        ("mthreads", "query"),
        ("mthreads", "table"),
        ("iluvatar", "query"),
        ("iluvatar", "table"),
        ("thead", "query"),
        ("thead", "table"),
        ("hygon", "fields"),
        ("hygon", "table"),
        ("metax", "table"),
        ("metax", "list"),
        ("ascend", "info"),
        ("furiosa", "info"),
    ],
)
def test_one_command_is_enough_where_another_fails(name: str, only: str) -> None:
    rows = REMOTES[name].reader().read(outputs_of(name, only=only))
    assert len(rows) == len(MACHINES[name].names)
    assert all(isinstance(outcome, Reading) for _, outcome in rows)


def test_the_full_table_of_an_old_furiosa_smi_reports_who_a_card_is() -> None:
    outputs = dict(outputs_of("furiosa", status=2, errors="unexpected argument '--format'"))
    table = (Path(FIXTURES) / "furiosa/warboy/info.txt").read_bytes()
    outputs["infofull"] = msgspec.structs.replace(outputs["infofull"], output=table, status=0)
    short = b"| Arch | Device | PCI-BDF |\n| rngd | npu0 | 0000:30:00.0 |\n"
    outputs["infotable"] = msgspec.structs.replace(outputs["infotable"], output=short, status=0)
    rows = REMOTES["furiosa"].reader().read(outputs)
    assert all(device.uuid for device, _ in rows)
    assert len(rows) > 0


def test_tables_of_an_old_furiosa_smi_are_read() -> None:
    outputs = dict(outputs_of("furiosa", status=2, errors="unexpected argument '--format'"))
    table = (Path(FIXTURES) / "furiosa/warboy/info.txt").read_bytes()
    outputs["infotable"] = msgspec.structs.replace(outputs["infotable"], output=table, status=0)
    rows = REMOTES["furiosa"].reader().read(outputs)
    assert rows


@pytest.mark.parametrize("name", sorted(MACHINES))
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [(124, DeviceTimeout, "did not end in time"), (1, ReadError, "oh dear")],
)
def test_a_command_that_fails_says_why(
    name: str, status: int, kind: type[AccelwatchError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        REMOTES[name].reader().read(outputs_of(name, status=status, errors="\n  oh dear\nmore"))


def test_a_command_that_may_not_be_run() -> None:
    with pytest.raises(DevicePermission, match="/usr/bin/rbln-smi may not be run there"):
        REMOTES["rebellions"].reader().read(outputs_of("rebellions", status=126))


@pytest.mark.parametrize("name", ["rebellions", "nvidia"])
def test_a_device_that_is_not_listed_any_more_is_lost(name: str) -> None:
    reader = REMOTES[name].reader()
    both = reader.read(outputs_of(name))
    outputs = {
        key: msgspec.structs.replace(output, output=_without_the_second(name, output.output))
        for key, output in outputs_of(name).items()
    }
    if name == "rebellions":  # a table may be cut; a document of nvidia-smi has an end
        for _ in range(RUNS - 1):
            unread = reader.read(outputs)[1][1]
            assert isinstance(unread, ReadError)
            assert not isinstance(unread, DeviceLost)
    first, second = reader.read(outputs)
    assert isinstance(first[1], Reading)
    assert isinstance(second[1], DeviceLost)
    assert second[0] == both[1][0]
    assert all(isinstance(outcome, Reading) for _, outcome in reader.read(outputs_of(name)))


def _without_the_second(name: str, output: bytes) -> bytes:
    if name == "nvidia":
        return output[: output.rindex(b"<gpu id=")] + b"</nvidia_smi_log>"
    document = msgspec.json.decode(output)
    return msgspec.json.encode({**document, "devices": document["devices"][:1]})


def board(npu: int) -> CommandOutput:
    """What `npu-smi info -t board` prints of an Ascend NPU."""
    die = f"5CA1AB1E 0000000{npu} 1223F2B2 84528485 104301E2"
    text = f"\tNPU ID    : {npu}\n\tVDie ID   : {die}\n\tSerial Number : S{npu}\n"
    return CommandOutput(program="/usr/bin/npu-smi", output=text.encode())


def test_an_ascend_npu_has_the_id_of_its_die_as_on_its_own_machine() -> None:
    table = {key: result for key, result in outputs_of("ascend").items() if key != "board"}
    reader = REMOTES["ascend"].reader()
    before = [device for device, _ in REMOTES["ascend"].reader().read(table)]
    first = [
        device for device, _ in reader.read({**table, "board/4-0": board(4), "board/5-0": board(5)})
    ]
    assert [(device.id, device.uuid, device.serial) for device in first] == [
        (f"ascend:{die}", die, f"S{npu}")
        for npu in (4, 5)
        for die in (f"5CA1AB1E-0000000{npu}-1223F2B2-84528485-104301E2",)
    ]
    assert [device.pci_bus_id for device in first] == [device.pci_bus_id for device in before]
    # Later rounds have no boards.
    assert [device for device, _ in reader.read(table)] == first


def test_an_ascend_npu_whose_board_is_not_printed_goes_by_its_address() -> None:
    outputs = outputs_of("ascend")
    late = CommandOutput(program="/usr/bin/npu-smi", output=b"\tNPU ID : 4\n", status=124)
    reader = REMOTES["ascend"].reader()
    devices = [device for device, _ in reader.read({**outputs, "board/4-0": late})]
    assert [device.id for device in devices] == [
        f"ascend:{device.pci_bus_id}" for device in devices
    ]
    again = {**outputs, "board/4-0": board(4), "board/5-0": board(5)}
    named = [device for device, _ in reader.read(again)]
    assert [device.uuid for device in named] == [
        f"5CA1AB1E-0000000{npu}-1223F2B2-84528485-104301E2" for npu in (4, 5)
    ]
    assert [device.pci_bus_id for device in named] == [device.pci_bus_id for device in devices]
