"""GPUs of another machine, by what nvidia-smi printed there."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.remote import CommandOutput, Remote, RemotelyRead, RemoteRow
from accelwatch.base.errors import AccelwatchError, DeviceLost, DeviceTimeout, ReadError
from accelwatch.plugins import entry_points as plugins
from accelwatch.schema.reading import Reading
from accelwatch_nvidia import NvidiaBackend
from accelwatch_nvidia.smi.remote import SmiReader
from support.machines.samples import FIXTURES


def outputs_of(output: bytes, status: int = 0, errors: str = "") -> Mapping[str, CommandOutput]:
    """A round on a machine with nvidia-smi."""
    printed = CommandOutput(
        program="/usr/bin/nvidia-smi", output=output, errors=errors, status=status
    )
    return {"query": printed}


def recorded(machine: str) -> bytes:
    return (Path(FIXTURES) / "nvidia" / machine / "nvidia-smi.xml").read_bytes()


def reading(row: RemoteRow) -> Reading:
    assert isinstance(row[1], Reading)
    return row[1]


def test_the_backend_says_where_its_remote_is() -> None:
    assert isinstance(NvidiaBackend, RemotelyRead)
    remote = plugins.load_address(NvidiaBackend.remote)
    assert isinstance(remote, Remote)
    whole, alone = remote.commands
    assert whole.arguments == ("-q", "-x")
    assert (alone.if_fails, alone.each_in) == (whole.key, "/proc/driver/nvidia/gpus")


def test_identity_and_numbers_are_those_of_the_document() -> None:
    rows = SmiReader().read(outputs_of(recorded("h100x2")))
    assert [device.name for device, _ in rows] == ["nvidia0", "nvidia1"]
    device, first = rows[0][0], reading(rows[0])
    assert device.id == f"nvidia:{device.uuid}"
    assert device.numa_node is None
    assert first.device_id == device.id
    assert first.values["power_watts",] > 0
    assert first.sources == {"*": "nvidia-smi"}


def test_instances_follow_their_gpu() -> None:
    rows = SmiReader().read(outputs_of(recorded("h100-mig")))
    whole, parts = rows[0][0], [device for device, _ in rows[1:]]
    assert parts
    assert {part.parent_id for part in parts} == {whole.id}


def test_processes_are_not_looked_for_on_this_machine() -> None:
    (row, *_) = SmiReader().read(outputs_of(recorded("rtx3090")))
    for process in reading(row).processes or ():
        assert process.user is None
        assert process.start_time is None


def test_a_gpu_that_is_lost_keeps_the_identity_that_it_had() -> None:
    reader = SmiReader()
    before = [device.id for device, _ in reader.read(outputs_of(recorded("h100x2")))]
    rows = reader.read(outputs_of(recorded("h100x2-lost"), status=15))
    assert [device.id for device, _ in rows] == before
    assert [isinstance(outcome, DeviceLost) for _, outcome in rows].count(True) == 1


def test_a_gpu_at_which_nvidia_smi_stops_is_lost_seen_before_or_not() -> None:
    reader = SmiReader()
    whole = recorded("h100x2")
    rows = reader.read(outputs_of(whole))
    bus = rows[1][0].pci_bus_id
    cut = whole[: whole.rindex(b"<gpu id=")]
    text = f"Unable to determine the device handle for GPU {bus}: GPU is lost.  Reboot the system."
    after = reader.read(outputs_of(cut, status=15, errors=text))
    assert [device.id for device, _ in after] == [device.id for device, _ in rows]
    assert isinstance(after[1][1], DeviceLost)
    unseen = SmiReader().read(outputs_of(cut, status=15, errors=text))
    assert [device.pci_bus_id for device, _ in unseen] == [rows[0][0].pci_bus_id, bus]
    assert isinstance(unseen[1][1], DeviceLost)


def test_gpus_that_nvidia_smi_names_before_it_goes_on_with_the_others_are_lost() -> None:
    whole = recorded("h100x2")
    text = (
        "Unable to determine the device handle for GPU2: 0000:65:00.0: GPU is lost.\n"
        "Unable to determine the device handle for GPU3: 0001:65:00.0: Unknown Error\n"
        "Unable to determine the device handle for GPU 4: Unknown Error\n"
    )
    rows = SmiReader().read(outputs_of(text.encode() + whole, errors=text))
    assert [device.name for device, _ in rows] == ["nvidia0", "nvidia1", "nvidia2", "nvidia3"]
    assert [device.pci_bus_id for device, _ in rows[2:]] == ["0000:65:00.0", "0001:65:00.0"]
    assert isinstance(rows[2][1], DeviceLost)
    assert isinstance(rows[3][1], ReadError)


def test_where_one_gpu_spoils_the_answer_each_says_how_it_is() -> None:
    whole = recorded("h100x2")
    reader = SmiReader()
    first, second = (device for device, _ in reader.read(outputs_of(whole)))
    text = f"Unable to determine the device handle for GPU {second.pci_bus_id}: GPU is lost.\n"
    alone = CommandOutput(program="nvidia-smi", output=whole[: whole.rindex(b"<gpu id=")])
    lost = CommandOutput(program="nvidia-smi", output=text.encode(), status=15)
    outputs = {
        **outputs_of(text.encode(), 15),
        f"each/{first.pci_bus_id}": alone,
        f"each/{second.pci_bus_id}": lost,
    }
    rows = reader.read(outputs)
    assert [device for device, _ in rows] == [first, second]
    assert isinstance(rows[0][1], Reading)
    assert isinstance(rows[1][1], DeviceLost)
    unseen = SmiReader().read(outputs)
    assert unseen[1][0].id == f"nvidia:{second.pci_bus_id}"
    assert isinstance(unseen[1][1], DeviceLost)


def test_a_gpu_that_hangs_alone_is_late_and_the_others_are_not() -> None:
    whole = recorded("h100x2")
    reader = SmiReader()
    first, second = (device for device, _ in reader.read(outputs_of(whole)))
    alone = CommandOutput(program="nvidia-smi", output=whole[: whole.rindex(b"<gpu id=")])
    late = CommandOutput(program="nvidia-smi", output=b"", status=124)
    outputs = {
        **outputs_of(b"", 124),
        f"each/{first.pci_bus_id}": alone,
        f"each/{second.pci_bus_id}": late,
    }
    (_, well), (_, hung) = reader.read(outputs)
    assert isinstance(well, Reading)
    assert isinstance(hung, DeviceTimeout)


def test_where_it_is_unknown_which_gpu_it_is_none_is_called_lost() -> None:
    reader = SmiReader()
    reader.read(outputs_of(recorded("h100x2")))
    outcomes = [outcome for _, outcome in reader.read(outputs_of(b"segmentation fault", 139))]
    assert [type(outcome) for outcome in outcomes] == [ReadError, ReadError]
    outcomes = [outcome for _, outcome in reader.read(outputs_of(b"No devices were found\n", 6))]
    assert [type(outcome) for outcome in outcomes] == [DeviceLost, DeviceLost]


@pytest.mark.parametrize(
    ("output", "status", "kind", "words"),
    [
        (b"", 124, DeviceTimeout, "did not end in time"),
        (b"", 137, DeviceTimeout, "did not end in time"),
        (b"No devices were found\n", 6, DeviceLost, "lists no GPU"),
        (
            b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
            9,
            BackendUnavailable,
            "NVML",
        ),
        (
            b"Unable to determine the device handle for GPU 0000:1B:00.0: GPU is lost.\n",
            15,
            ReadError,
            "0000:1b:00.0",
        ),
        (b"hello\n", 0, ReadError, "hello"),
        (b"", 1, ReadError, "status 1 and no document: nothing"),
    ],
)
def test_why_there_is_no_gpu(
    output: bytes, status: int, kind: type[AccelwatchError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        SmiReader().read(outputs_of(output, status))
