"""Processes of a foreign exporter: on the device that they use, by the program's name alone."""

import pytest

from accelwatch.fleet.dialects import Foreign, read_devices
from accelwatch.schema.reading import Process
from support.machines.samples import FIXTURES, sample

NOW = 1_700_000_100.0
ALL_SMI = FIXTURES / "fleet" / "dialects" / "all_smi_processes.prom"


def smi_exporter(command: str) -> str:
    return (
        'nvidia_smi_utilization_gpu_ratio{uuid="u1"} 1\n'
        f'nvidia_smi_compute_app_info{{uuid="u1",pid="7",process_name="{command}"}} 1\n'
    )


def processes(read: Foreign, name: str) -> tuple[Process, ...]:
    (view,) = [one for one in read.devices if one.device.name == name]
    assert view.reading.processes is not None
    return view.reading.processes


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("memhog --token=abc --cfg=/etc/secret.yaml", "memhog"),
        (r"C:\\Program Files\\App\\app.exe --key C:\\secret.txt", "app.exe"),
        ("/usr/bin/python3", "python3"),
    ],
)
def test_no_argument_and_no_path_is_shown(command: str, name: str) -> None:
    (one,) = processes(read_devices(smi_exporter(command), NOW), "nvidia0")
    assert one.command == name


def test_a_process_is_on_the_device_of_its_uuid_beside_a_lost_one() -> None:
    """Device 1 is lost: the devices' index has moved up, the processes' has not."""
    read = read_devices(ALL_SMI.read_bytes(), NOW)
    assert [view.device.name for view in read.devices] == ["gpu0", "gpu1"]
    assert [view.device.uuid for view in read.devices] == ["GPU-aa00", "GPU-aa02"]
    (first,), (second,) = processes(read, "gpu0"), processes(read, "gpu1")
    assert (first.pid, first.gpu_memory_bytes, first.user) == (700, 3221225472, "anna")
    assert (second.pid, second.gpu_memory_bytes) == (702, 2147483648)
    assert (first.command, first.cpu_utilization_ratio) == ("python3", 1.5)
    assert first.start_time == 1_699_990_000
    assert second.start_time is None  # seconds since the start: no time of day


def test_a_process_of_the_host_is_on_no_device() -> None:
    read = read_devices(ALL_SMI.read_bytes(), NOW)
    pids = {one.pid for view in read.devices for one in view.reading.processes or ()}
    assert pids == {700, 702}


@pytest.mark.parametrize(
    "line",
    [
        'all_smi_process_memory_used_bytes{pid="9",gpu_index="7",device_uuid="GPU-b"} 1',
        'all_smi_process_memory_used_bytes{pid="9",gpu_index="7",device_uuid=""} 1',
        'all_smi_process_memory_used_bytes{pid="9",gpu_index="7"} 1',
    ],
)
def test_a_process_makes_no_device_of_all_smi(line: str) -> None:
    known = 'all_smi_gpu_utilization{gpu="NVIDIA L4",gpu_uuid="GPU-a",gpu_index="0"} 5\n'
    (view,) = read_devices(known + line + "\n", NOW).devices
    assert view.reading.processes == ()


@pytest.mark.parametrize(
    ("known", "process"),
    [
        (
            'nvidia_smi_utilization_gpu_ratio{uuid="u1"} 1\n',
            'nvidia_smi_compute_app_info{uuid="u2",pid="7"} 1\n',
        ),
        (
            'npu_chip_info_power{id="0",vdie_id="d0"} 100\n',
            'npu_chip_info_process_info{id="1",vdie_id="d1",process_id="7"} 3\n',
        ),
        (
            'gpu_gfx_activity{gpu_id="0",serial_number="s0"} 5\n',
            'gpu_process_cu_occupancy{gpu_id="1",serial_number="s1",process_id="7"} 3\n',
        ),
    ],
)
def test_a_process_makes_no_device_of_any_dialect(known: str, process: str) -> None:
    (view,) = read_devices(known + process, NOW).devices
    assert view.reading.processes == ()


@pytest.mark.oracle
def test_eight_gpus_with_a_process_each_and_the_host_with_others() -> None:
    page = sample("exporters/all_smi/api_0.28.1_h100x8_processes.metrics").read_bytes()
    read = read_devices(page, NOW)
    listed = [(view.device.uuid or "", view.reading.processes or ()) for view in read.devices]
    counts = {uuid[-1]: len(rows) for uuid, rows in listed}
    assert counts == {"0": 3, "1": 3, "2": 3, "3": 3, "4": 3, "6": 3, "7": 2}
    for _, rows in listed:
        assert {(one.command, one.gpu_memory_bytes) for one in rows} == {("sleep", 3221225472)}
        assert {one.start_time for one in rows} == {1795309233}


@pytest.mark.parametrize(
    ("labels", "kind"),
    [('container="run"', "container"), ('pod="p",container="run"', "kubernetes")],
)
def test_who_has_a_device_is_a_container_where_no_pod_is_named(labels: str, kind: str) -> None:
    page = f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="GPU-1",{labels}}} 100\n'
    (view,) = read_devices(page, 1_700_000_000.0).devices
    assert [(owner.kind, owner.container) for owner in view.owners] == [(kind, "run")]
