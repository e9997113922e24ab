"""What Neuron's driver and neuron-ls tell, in base units, and what neither says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.backend import Confining, Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.reading import Link, Reading
from accelwatch_neuron import NeuronBackend, listing
from accelwatch_neuron.listing import Entry
from backends.neuron.machines import (
    BAD_DAY,
    GIB,
    LISTING,
    NEURON_DEVICE,
    TRN1,
    lay_out,
    listed,
    write_program,
)
from support.machines.packed_trees import FakeTree
from support.machines.polling import assert_all_believed
from support.machines.samples import sample

ECC = "ecc_location_errors_total"
_COUNTER = ("total", "present")


def opened(root: Path) -> NeuronBackend:
    backend = NeuronBackend(Context(root=root))
    backend.open()
    return backend


def read(root: Path, files: Mapping[str, str], *, processes: bool = True) -> list[Reading]:
    lay_out(root, files)
    return readings_of(root, processes=processes)


def readings_of(root: Path, *, processes: bool = True) -> list[Reading]:
    backend = opened(root)
    devices = backend.discover()
    request = Request(processes=processes)
    readings = [reading for device in devices for reading in backend.read(device, request)]
    backend.close()
    assert_all_believed(devices, readings)
    return readings


def test_who_they_are(tmp_path: Path) -> None:
    lay_out(tmp_path, TRN1)
    backend = opened(tmp_path)
    first, second = backend.discover()
    assert (first.id, first.name, second.name) == ("neuron:9ff5434815c8bd80", "neuron0", "neuron1")
    assert (first.model, first.architecture) == ("Trainium1", "NCv2")
    assert (first.serial, first.driver_version) == ("9ff5434815c8bd80", "2.26.5.0")
    assert first.device_nodes == ("/dev/neuron0",)
    assert [backend.identify(device)[0].pci_bus_id for device in (first, second)] == [
        "0000:00:1e.0",
        "0000:00:1f.0",
    ]


def test_no_variable_of_the_runtime_takes_devices() -> None:
    """NEURON_RT_VISIBLE_CORES counts cores: indices of devices in it would give a job others."""
    assert not isinstance(NeuronBackend, Confining)


def test_a_healthy_machine(tmp_path: Path) -> None:
    first, second = read(tmp_path, TRN1)
    assert first.values == {
        (ECC, "uncorrected", "hbm"): 0,
        (ECC, "uncorrected", "sram"): 0,
        (ECC, "uncorrected", "hbm_repairable"): 0,
        ("ecc_errors_total", "uncorrected"): 0,
        ("memory_repair_pending",): 0,
        ("memory_used_bytes",): 2 * (GIB + 4096),
        ("memory_size_bytes",): 32 * GIB,
    }
    assert first.processes is not None
    (process,) = first.processes
    assert (process.pid, process.command, process.argv) == (4242, "python3", None)
    assert process.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert second.processes == ()
    assert second.values[("memory_used_bytes",)] == 2 * 4096


def test_a_bad_day(tmp_path: Path) -> None:
    first, second = read(tmp_path, BAD_DAY)
    assert first.values[("ecc_errors_total", "uncorrected")] == 6, "those to be repaired are errors"
    assert first.values[(ECC, "uncorrected", "hbm")] == 2
    assert first.values[(ECC, "uncorrected", "sram")] == 1
    assert first.values[(ECC, "uncorrected", "hbm_repairable")] == 3
    assert first.values[("memory_repair_pending",)] == 1
    assert second.absent[(ECC, "uncorrected", "sram")] is Absence.ERROR
    assert second.absent[("ecc_errors_total", "uncorrected")] is Absence.ERROR
    assert second.values[(ECC, "uncorrected", "hbm")] == 0
    assert second.absent[("memory_used_bytes",)] is Absence.ERROR


@pytest.mark.parametrize(
    ("faults", "words", "health"),
    [
        ({"hw_hbm_ue_error": 1}, {"hw_hbm_ue_error"}, "failed"),
        ({"hw_nc_ue_error": 2, "hw_error": 2}, {"hw_nc_ue_error", "hw_error"}, "failed"),
        ({"hw_dma_abort_error": 1}, {"hw_dma_abort_error"}, "failed"),
        ({"hw_repairable_hbm_ue_error": 5}, {"hw_repairable_hbm_ue_error"}, "degraded"),
        ({"hw_collectives_error": 1}, {"hw_collectives_error"}, None),
        ({"hw_error": 3, "hw_nc_ue_error": 0}, {"hw_error"}, None),
        ({"timeout": 3, "hw_nc_ue_error": 0, "execute_completed_with_num_error": 4}, set(), None),
        ({"hw_nc_ue_error": -1}, set(), None),
    ],
)
def test_faults_that_the_driver_counts_by_core(
    tmp_path: Path, faults: dict[str, int], words: set[str], health: str | None
) -> None:
    status = f"{NEURON_DEVICE}/neuron0/neuron_core1/stats/status"
    files = {f"{status}/{word}/{name}": str(n) for word, n in faults.items() for name in _COUNTER}
    first, second = read(tmp_path, {**TRN1, **files})
    statuses = {series[1] for series in first.values if series[0] == "reported_status_info"}
    states = {series[1] for series in first.values if series[0] == "reported_health_info"}
    assert statuses == words
    assert states == ({health} if health else set()), (
        "a driver that counts nothing vouches for none"
    )
    assert second.absent[("reported_status_info",)] is Absence.UNSUPPORTED


@pytest.mark.parametrize(
    ("text", "words", "health"),
    [
        ("hbm\n", {"unhealthy hbm"}, "failed"),
        (
            "link_efa,link_intraserver\n",
            {"unhealthy link_efa", "unhealthy link_intraserver"},
            "degraded",
        ),
        ("link_host, axi_fabric", {"unhealthy link_host", "unhealthy axi_fabric"}, "failed"),
        ("firmware_service_api", {"unhealthy firmware_service_api"}, "failed"),
        ("something_new", {"unhealthy something_new"}, "degraded"),
        ("\n", set(), None),
        ("none", set(), None),
        ("N/A", set(), None),
        ("-1", set(), None),
    ],
)
def test_components_that_the_firmware_holds_unhealthy(
    tmp_path: Path, text: str, words: set[str], health: str | None
) -> None:
    status_file = f"{NEURON_DEVICE}/neuron0/stats/hardware/health_status/unhealthy_components"
    first, _ = read(tmp_path, {**TRN1, status_file: text})
    assert {series[1] for series in first.values if series[0] == "reported_status_info"} == words
    states = {series[1] for series in first.values if series[0] == "reported_health_info"}
    assert states == ({health} if health else set())


def test_corrected_errors_are_in_sysfs_from_2_30_on(tmp_path: Path) -> None:
    at = f"{NEURON_DEVICE}/neuron{{}}/stats/hardware/{{}}_ecc_corrected"
    files = {at.format(0, "mem"): "11", at.format(0, "sram"): "4", at.format(1, "mem"): "3"}
    first, second = read(tmp_path, {**TRN1, **files})
    assert first.values[(ECC, "corrected", "hbm")] == 11
    assert first.values[(ECC, "corrected", "sram")] == 4
    assert first.values[("ecc_errors_total", "corrected")] == 15
    assert second.values[(ECC, "corrected", "hbm")] == 3
    assert second.absent[("ecc_errors_total", "corrected")] is Absence.UNSUPPORTED


def test_a_reset_that_failed_is_reported(tmp_path: Path) -> None:
    other = f"{NEURON_DEVICE}/neuron1/neuron_core0/stats/other_info"
    files = {f"{other}/reset_fail_count": "1", f"{other}/reset_req_count/total": "9"}
    _, second = read(tmp_path, {**TRN1, **files})
    assert second.values[("reported_status_info", "reset_fail_count")] == 1
    assert not [series for series in second.values if series[0] == "resets_total"]


def test_neighbours_are_those_of_the_list(tmp_path: Path) -> None:
    listing = [
        {**listed(0, "0000:00:1e.0"), "connected_to": [1, 7, 1, "x", -1, 0]},
        {**listed(1, "0000:00:1f.0"), "connected_to": None},
    ]
    lay_out(tmp_path, {**TRN1, f"{NEURON_DEVICE}/neuron0/connected_devices": "3\n"}, listing)
    first, second = readings_of(tmp_path)
    assert first.links == (
        Link(fabric="neuronlink", link="1", remote="0000:00:1f.0"),
        Link(fabric="neuronlink", link="7"),
    )
    assert second.links == ()


def test_neighbours_are_those_of_the_driver_without_a_list(tmp_path: Path) -> None:
    at = f"{NEURON_DEVICE}/neuron{{}}/connected_devices"
    files = {**TRN1, at.format(0): "12, 3, 1\n", at.format(1): "\n"}
    lay_out(tmp_path, files, [{**row, "connected_to": None} for row in LISTING])
    first, second = readings_of(tmp_path)
    assert [(link.link, link.remote) for link in first.links] == [
        ("12", None),
        ("3", None),
        ("1", "0000:00:1f.0"),
    ]
    assert second.links == ()


def test_counters_may_be_folders(tmp_path: Path) -> None:
    files = {
        f"{NEURON_DEVICE}/neuron0/info/serial_number": "",
        f"{NEURON_DEVICE}/neuron0/stats/hardware/mem_ecc_uncorrected/total": "4",
    }
    (reading,) = read(tmp_path, files)
    assert reading.values[(ECC, "uncorrected", "hbm")] == 4
    assert reading.absent[("memory_repair_pending",)] is Absence.UNSUPPORTED
    assert reading.absent[("memory_used_bytes",)] is Absence.UNSUPPORTED


@pytest.mark.parametrize(
    ("program", "reason"), [(None, Absence.UNSUPPORTED), ("exit 1", Absence.ERROR)]
)
def test_the_drivers_counts_need_no_command(
    tmp_path: Path, program: str | None, reason: Absence
) -> None:
    lay_out(tmp_path, TRN1)
    if program is None:
        (tmp_path / "opt/aws/neuron/bin/neuron-ls").unlink()
    else:
        write_program(tmp_path, program)
    backend = opened(tmp_path)
    device = backend.discover()[0]
    assert backend.identify(device) == [device]
    (reading,) = backend.read(device, Request(processes=True))
    assert reading.values[("memory_used_bytes",)] == 2 * (GIB + 4096)
    assert reading.absent[("memory_size_bytes",)] is reason
    assert reading.absent[("processes",)] is reason


def test_processes_are_listed_when_requested(tmp_path: Path) -> None:
    first, _ = read(tmp_path, TRN1, processes=False)
    assert first.processes is None
    assert first.absent[("processes",)] is Absence.NOT_COLLECTED


def test_the_newer_form_is_requested_where_the_older_is_gone(tmp_path: Path) -> None:
    lay_out(tmp_path, TRN1, {"instance": {"type": "trn1"}, "devices": list(LISTING)})
    write_program(
        tmp_path, f'[ "$1" = --output-format ] && exec cat {tmp_path}/listing.json; exit 1'
    )
    backend = opened(tmp_path)
    (reading,) = backend.read(backend.discover()[0], Request())
    assert reading.values[("memory_size_bytes",)] == 32 * GIB


def test_without_the_driver_the_chip_is_present_and_not_read(tmp_path: Path) -> None:
    folder = "sys/bus/pci/devices/0000:00:1e.0"
    tree = FakeTree(tmp_path)
    for name, text in (("vendor", "0x1d0f"), ("device", "0x7164"), ("class", "0x088000")):
        tree.write(f"{folder}/{name}", text.encode())
    backend = NeuronBackend(Context(root=tmp_path))
    assert backend.probe().present
    with pytest.raises(BackendUnavailable, match="neuron_device"):
        backend.open()
    for chip in (b"0x7065", b"0x7067", b"0x7364"):
        tree.write(f"{folder}/device", chip)
        assert backend.probe().present
    tree.write(f"{folder}/device", b"0xec20")
    assert not backend.probe().present


def test_a_device_that_the_driver_gave_up_is_lost(tmp_path: Path) -> None:
    lay_out(tmp_path, TRN1)
    backend = opened(tmp_path)
    device = backend.discover()[0]
    (tmp_path / NEURON_DEVICE / "neuron0").rename(tmp_path / "gone")
    with pytest.raises(DeviceLost):
        backend.read(device, Request())


def test_the_recorded_list() -> None:
    output = sample("neuron/cli/neuron_ls_json_trn1_2xlarge.json").read_bytes()
    assert listing.parse(output) == {0: Entry("0000:00:1e.0", 34_359_738_368, (), None, (0, 1))}


def test_the_recorded_values(tmp_path: Path) -> None:
    recorded = json.loads(sample("neuron/sysfs/trn1_2xlarge_values.json").read_text())["files"]
    lay_out(tmp_path, {f"{NEURON_DEVICE}/neuron0/{name}": text for name, text in recorded.items()})
    (device,) = opened(tmp_path).discover()
    assert (device.serial, device.model) == ("9ff5434815c8bd80", "Trainium1")
    assert device.architecture == "NDv2"


@pytest.mark.parametrize(
    ("change", "entry"),
    [
        ({"bdf": "nowhere"}, Entry(None, 32 * GIB, ())),
        ({"bdf": None}, Entry(None, 32 * GIB, ())),
        ({"memory_size": "32"}, Entry("0000:00:1e.0", None, ())),
        ({"memory_size": 0}, Entry("0000:00:1e.0", None, ())),
        ({"memory_size": True}, Entry("0000:00:1e.0", None, ())),
        ({"neuron_processes": None}, Entry("0000:00:1e.0", 32 * GIB, None)),
        (
            {"neuron_processes": [7, {"pid": 0}, {"pid": 9}]},
            Entry("0000:00:1e.0", 32 * GIB, ((9, None),)),
        ),
    ],
)
def test_one_bad_field_hides_no_other(change: dict[str, Any], entry: Entry) -> None:
    row = {**listed(0, "0000:00:1e.0"), **change}
    entries = listing.parse(json.dumps([row]).encode())
    assert entries == {0: entry._replace(neighbours=(1,))}


@pytest.mark.parametrize("output", [b"", b"no devices", b"{}", b"7", b'{"devices": [1]}'])
def test_what_is_no_list(output: bytes) -> None:
    with pytest.raises(ReadError):
        listing.parse(output)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda part: (
            st.lists(part, max_size=3)
            | st.dictionaries(st.sampled_from(sorted(LISTING[0])), part, max_size=7)
        ),
    )
)
def test_no_list_however_damaged_escapes(document: Any) -> None:
    try:
        entries = listing.parse(json.dumps(document).encode())
    except ReadError:
        return
    assert all(index >= 0 for index in entries)


@pytest.mark.parametrize(
    ("cores_text", "cores"),
    [([4, 5], (4, 5)), ([], None), (None, None), ([4, "5"], None), ("4-5", None), ([4, 4], None)],
)
def test_numbers_of_cores(cores_text: Any, cores: tuple[int, ...] | None) -> None:
    row = {**listed(0, "0000:00:1e.0"), "neuroncore_ids": cores_text}
    assert listing.parse(json.dumps([row]).encode())[0].cores == cores


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(sorted(TRN1)), st.binary(max_size=24), max_size=6))
def test_damaged_files_raise_nothing(tmp_path: Path, damage: dict[str, bytes]) -> None:
    lay_out(tmp_path, TRN1)
    (tmp_path / "opt/aws/neuron/bin/neuron-ls").unlink()
    for path, content in damage.items():
        (tmp_path / path).write_bytes(content)
    backend = opened(tmp_path)
    devices = backend.discover()
    for device in devices:
        assert_all_believed([device], backend.read(device, Request()))
