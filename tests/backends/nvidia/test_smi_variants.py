"""Composed documents as other drivers, systems and bad days print them."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process, Reading
from accelwatch_nvidia.smi import document as smi_document
from accelwatch_nvidia.smi import elements
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from support.machines.smi_documents import Gpu, document

BLANK = Device(id="nvidia:0", vendor="nvidia", backend="nvidia", index=0, name="nvidia0")


def read(text: bytes) -> Reading:
    (gpu,) = smi_document.parse(text).gpus
    device = smi_identity.complete_device(BLANK, gpu, None)
    return smi_mapping.read(device, gpu, frozenset({"ecc", "components"}))


def changed(*changes: tuple[str, str]) -> Reading:
    text = document([Gpu(0)])
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return read(text.encode())


def listing(processes: str) -> Reading:
    """The reading of a document with this in the place of the element `processes`."""
    head, _, rest = document([Gpu(0)]).partition("<processes>")
    _, _, tail = rest.partition("</processes>")
    return read(f"{head}{processes}{tail}".encode())


def processes(*rows: tuple[int, str, str, str]) -> tuple[Process, ...]:
    listed = "".join(
        f"<process_info><pid>{pid}</pid><type>{kind}</type><process_name>{name}</process_name>"
        f"<used_memory>{memory}</used_memory></process_info>"
        for pid, kind, name, memory in rows
    )
    found = listing(f"<processes>{listed}</processes>").processes
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("element", "why"),
    [
        ("<processes>N/A</processes>", Absence.UNSUPPORTED),
        ("<processes>\n\t\tInsufficient Permissions\n</processes>", Absence.PERMISSION),
        ("<processes>Unknown Error</processes>", Absence.ERROR),
        ("<processes>Perhaps</processes>", Absence.ERROR),
        ("", Absence.UNSUPPORTED),
    ],
)
def test_processes_that_are_not_reported_are_not_none(element: str, why: Absence) -> None:
    reading = listing(element)
    assert reading.processes is None
    assert reading.absent["processes",] is why


@pytest.mark.parametrize("element", ["<processes>\n\t\t</processes>", "<processes/>"])
def test_an_empty_list_of_processes_is_none(element: str) -> None:
    assert listing(element).processes == ()


@pytest.mark.parametrize(
    ("shown", "idle"), [("Active", 1), ("Not Active", 0), ("N/A", None), (None, None)]
)
def test_idleness_is_read_where_it_is_shown(shown: str | None, idle: int | None) -> None:
    tag = "clocks_event_reason_gpu_idle"
    reasons = "<clocks_event_reasons>"
    reasons += f"<{tag}>{shown}</{tag}>" if shown else ""
    reasons += "<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>"
    text = document([Gpu(0)]).replace("<processes>", f"{reasons}</clocks_event_reasons><processes>")
    (gpu,) = smi_document.parse(text.encode()).gpus
    reading = smi_mapping.read(BLANK, gpu, frozenset({"clocks"}))
    assert reading.values.get(("clocks_idle",)) == idle
    assert reading.values["throttle_active", "power"] == 1
    assert ("clocks_idle",) not in smi_mapping.read(BLANK, gpu, frozenset()).values


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: b"\xff\xfe" + text.decode().encode("utf-16-le"),
        lambda text: b"WARNING: Persistence mode is off\n" + text,
        lambda text: text + b"WARNING: infoROM is corrupted at gpu 00000000:3B:00.0\n",
        lambda text: text.replace(b"\n", b"\r\n"),
    ],
    ids=["BOM", "UTF-16", "text before", "text behind", "CRLF"],
)
def test_what_stands_around_a_document_does_not_matter(wrap: object) -> None:
    assert callable(wrap)
    plain = document([Gpu(0), Gpu(1)]).encode()
    found = smi_document.parse(wrap(plain))
    assert found.complete
    assert len(found.gpus) == 2


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("<memory_util>41 %", "<memory_util>141 %", "memory_controller_utilization_ratio"),
        ("<instant_power_draw>642.13 W", "<instant_power_draw>4294967.29 W", "power_watts"),
        ("<used>62439 MiB", "<used>99999 MiB", "memory_used_bytes"),
    ],
)
def test_numbers_that_cannot_be_true_are_errors(before: str, after: str, key: str) -> None:
    changes = [(before, after)]
    if key == "power_watts":
        changes.append(("<average_power_draw>642.13 W", "<average_power_draw>4294967.29 W"))
    assert changed(*changes).absent[key,] is Absence.ERROR


def test_a_fan_may_turn_faster_than_its_full_speed() -> None:
    assert changed(("<fan_speed>N/A", "<fan_speed>104 %")).values["fan_speed_ratio", "0"] == 1.04


def test_a_temperature_beyond_silicon_is_an_error() -> None:
    reading = changed(("<memory_temp>72 C", "<memory_temp>4294967295 C"))
    assert reading.absent["temperature_celsius", "memory"] is Absence.ERROR


@pytest.mark.parametrize("tag", ["gpu_util", "gpu_temp", "used"])
def test_a_gpu_that_requires_a_reset_is_lost(tag: str) -> None:
    text = document([Gpu(0)])
    head, _, rest = text.partition(f"<{tag}>")
    _, _, tail = rest.partition("<")
    with pytest.raises(DeviceLost, match="RESET_REQUIRED"):
        read(f"{head}<{tag}>GPU requires reset<{tail}".encode())


def test_an_unknown_wish_is_no_wish_for_a_reset() -> None:
    action = "<gpu_recovery_action>{}</gpu_recovery_action>\n\t\t<fan_speed>"
    reading = changed(("<fan_speed>", action.format("Drain P2P")))
    assert reading.values["recovery_action_info", "drain_p2p"] == 1
    assert ("reset_required",) not in changed(("<fan_speed>", action.format("Unknown"))).values


def test_a_gpu_of_which_nothing_may_be_read_is_denied() -> None:
    tags = "".join(
        f"<{group}>Insufficient Permissions</{group}>"
        for group in ("utilization", "fb_memory_usage", "temperature", "gpu_power_readings")
    )
    text = f'<nvidia_smi_log><gpu id="00000000:18:00.0">{tags}</gpu></nvidia_smi_log>'
    with pytest.raises(DevicePermission):
        read(text.encode())


def test_a_process_in_two_rows_is_one_process() -> None:
    (one,) = processes(
        (77, "G", "/usr/lib/xorg/Xorg", "20 MiB"), (77, "C", "/usr/lib/xorg/Xorg", "30 MiB")
    )
    assert one.type == "graphics+compute"
    assert one.gpu_memory_bytes == 30 << 20


def test_windows_paths_hold_blanks_and_memory_is_not_reported() -> None:
    edge, hidden = processes(
        (4, "C+G", r"C:\Program Files (x86)\Microsoft\Edge\msedge.exe", "N/A"),
        (9, "C+G", "[Insufficient Permissions]", "N/A"),
    )
    assert (edge.command, edge.type) == ("msedge.exe", "compute+graphics")
    assert edge.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert hidden.absent["command"] is Absence.PERMISSION


@pytest.mark.parametrize("bus", ["N/A", "", "GPU is lost"])
def test_a_gpu_on_no_bus_has_no_pci_id(bus: str) -> None:
    text = f'<nvidia_smi_log><gpu id="{bus}"><uuid>GPU-1</uuid></gpu></nvidia_smi_log>'
    (gpu,) = smi_document.parse(text.encode()).gpus
    assert elements.bus_of(gpu) is None
    assert smi_identity.complete_device(BLANK, gpu, None).pci_bus_id is None
