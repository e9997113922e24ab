"""A card goes by one name, whoever tells of it: its vendor's exporter or our own agent."""

import pytest

from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.dialects.npu import (
    ASCEND,
    FURIOSA,
    GAUDI,
    NEURON,
    REBELLIONS,
    TENSTORRENT,
    TPU,
)
from accelwatch.fleet.dialects.table import Dialect
from accelwatch_ascend.mapping import VENDOR as ASCEND_AGENT
from accelwatch_furiosa.mapping import VENDOR as FURIOSA_AGENT
from accelwatch_gaudi import GaudiBackend
from accelwatch_neuron.tree import VENDOR as NEURON_AGENT
from accelwatch_rebellions import RebellionsBackend
from accelwatch_tenstorrent import TenstorrentBackend
from accelwatch_tpu.mapping import VENDOR as TPU_AGENT


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
    ids=lambda told: told.name if isinstance(told, Dialect) else "",
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
