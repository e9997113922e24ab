"""A card goes by one name, whoever reports it: its vendor's exporter or our own agent."""

from collections.abc import Mapping

import msgspec
import pytest

from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.exporters.npu import (
    ASCEND,
    FURIOSA,
    GAUDI,
    NEURON,
    REBELLIONS,
    TENSTORRENT,
    TPU,
)
from accelwatch.fleet.merge import same_devices
from accelwatch.schema.device import Device
from accelwatch_ascend.document import numbered
from accelwatch_ascend.mapping import VENDOR as ASCEND_AGENT
from accelwatch_ascend.mapping import identified
from accelwatch_ascend.table import parse_table
from accelwatch_furiosa.mapping import VENDOR as FURIOSA_AGENT
from accelwatch_gaudi import GaudiBackend
from accelwatch_neuron.tree import VENDOR as NEURON_AGENT
from accelwatch_rebellions import RebellionsBackend
from accelwatch_tenstorrent import TenstorrentBackend
from accelwatch_tpu.chips import GENERATIONS
from accelwatch_tpu.mapping import VENDOR as TPU_AGENT
from support.machines import composed as machines
from support.machines.samples import sample


@pytest.mark.parametrize(
    ("dialect", "vendor"),
    [
        (ASCEND, ASCEND_AGENT),
        (FURIOSA, FURIOSA_AGENT),
        (GAUDI, GaudiBackend.vendor),
        (NEURON, NEURON_AGENT),
        (REBELLIONS, RebellionsBackend.vendor),
        (TENSTORRENT, TenstorrentBackend.vendor),
        (TPU, TPU_AGENT),
    ],
    ids=lambda reported: reported.name if isinstance(reported, Dialect) else "",
)
def test_the_vendor_is_the_agents(dialect: Dialect, vendor: str) -> None:
    assert dialect.vendor == vendor


def test_a_chip_of_npu_exporter_has_the_agents_id_and_clock() -> None:
    die = "14036E64-00E04F1D-1223F2B2-84528485-104301E2"
    labels = f'id="0",vdie_id="{die}",pcie_bus_info="0000:C1:00.0"'
    page = f"npu_chip_info_aicore_current_freq{{{labels}}} 1650\n"
    (view,) = read_devices(page, 1_700_000_000.0).devices
    assert view.device.id == f"ascend:{die}"
    assert view.reading.values == {("clock_hertz", "npu"): 1_650_000_000}


def _agent(sample_name: str, boards: Mapping[tuple[int, int], str]) -> list[Device]:
    """Who the chips of a recorded table are to our agent; `boards` has the die of each."""
    document = numbered(parse_table(sample(sample_name).read_bytes()), {})
    blank = Device(id="", vendor=ASCEND_AGENT, backend="ascend", index=0, name="")
    return [
        identified(blank, chip, document.driver_version, {"vdie id": boards[chip.key]}, None)
        for chip in document.chips
    ]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("npu_smi_info_910b4_24.1.1", ("910B4-Ascend-V1", "910B4")),
        ("npu_smi_info_310p3_22.0.0", ("310P3-Ascend-V1", "310P3")),
        ("npu_smi_info_a3_26.0.rc2", ("Ascend910-Ascend-V1", "Ascend910")),
    ],
)
def test_agent_and_npu_exporter_call_a_recorded_chip_the_same(
    name: str, models: tuple[str, ...]
) -> None:
    chips = parse_table(sample(f"ascend/cli/{name}.txt").read_bytes()).chips
    dies = {
        chip.key: f"14036E64 00E04F1D 1223F2B2 84528485 {at + 1:08X}"
        for at, chip in enumerate(chips)
    }
    agents = _agent(f"ascend/cli/{name}.txt", dies)
    for model in models:
        page = "".join(
            f'npu_chip_info_aicore_current_freq{{id="{device.index}",model_name="{model}",'
            f'vdie_id="{device.uuid}",pcie_bus_info="{(device.pci_bus_id or "").upper()}"}} 1650\n'
            for device in agents
        )
        views = read_devices(page, 1_700_000_000.0).devices
        for agent, view in zip(agents, views, strict=True):
            exporter = view.device
            for field in ("id", "vendor", "kind", "uuid", "model", "name", "index", "pci_bus_id"):
                assert getattr(exporter, field) == getattr(agent, field), field


@pytest.mark.parametrize(
    ("reported", "model"),
    [
        ("tpu-v5-lite", "TPU v5e"),
        ("tpu-v5-lite-podslice", "TPU v5e"),
        ("tpu-v5p-slice", "TPU v5p"),
        ("tpu-v4-podslice", "TPU v4"),
        ("tpu-v6e-slice", "TPU v6e"),
        ("tpu7x", "TPU 7x"),
        ("a new one", "a new one"),
    ],
)
def test_a_tpu_is_of_the_model_that_the_agent_reports(reported: str, model: str) -> None:
    page = f'duty_cycle{{make="cloud-tpu",accelerator_id="4804027156-0",model="{reported}"}} 12.5\n'
    (view,) = read_devices(page, 1_700_000_000.0).devices
    assert (view.device.vendor, view.device.model) == (TPU_AGENT, model)
    generations = {f"TPU {generation.name}" for generation in GENERATIONS}
    assert model in generations or model == reported


def test_a_tpu_is_numbered_as_the_agent_numbers_it() -> None:
    page = "".join(
        f'duty_cycle{{make="cloud-tpu",accelerator_id="4804027156-{chip}",model="tpu-v6e-slice"}} 9\n'
        for chip in (3, 0)
    )
    reported = {
        view.device.index: view.device for view in read_devices(page, 1_700_000_000.0).devices
    }
    assert {index: (device.id, device.name, device.uuid) for index, device in reported.items()} == {
        0: ("tpu:tpu0", "tpu0", None),
        3: ("tpu:tpu3", "tpu3", None),
    }
    ours = [
        machines.device(
            chip,
            id=f"tpu:0000:00:0{chip + 4}.0",
            vendor=TPU_AGENT,
            name=f"tpu{chip}",
            uuid=None,
            pci_bus_id=f"0000:00:0{chip + 4}.0",
        )
        for chip in range(4)
    ]
    same = same_devices([ours, list(reported.values())])
    assert [(entry.device.index, len(entry.positions)) for entry in same] == [
        (0, 2),
        (1, 1),
        (2, 1),
        (3, 2),
    ]


def test_only_numbers_that_the_driver_gives_join_devices() -> None:
    def neuron(serial: str, name: str) -> Device:
        id_ = f"neuron:{serial}"
        return machines.device(0, id=id_, vendor="neuron", name=name, uuid=None, pci_bus_id=None)

    assert len(same_devices([[neuron("S1", "neuron0")], [neuron("neuron0", "neuron0")]])) == 1
    assert len(same_devices([[neuron("S1", "neuron0")], [neuron("c", "neuroncore0")]])) == 2
    gpu = machines.device(0, uuid=None, pci_bus_id=None, id="nvidia:a")
    assert len(same_devices([[gpu], [msgspec.structs.replace(gpu, id="nvidia:b")]])) == 2
