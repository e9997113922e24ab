"""The dialects we read, ours first. A new one is a module with a table and a line here."""

from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.exporters import dcgm
from accelwatch.fleet.dialects.exporters.all_smi import ALL_SMI
from accelwatch.fleet.dialects.exporters.amd import AMD
from accelwatch.fleet.dialects.exporters.backendai import BACKENDAI, BACKENDAI_DEVICES
from accelwatch.fleet.dialects.exporters.generic import RED_HAT
from accelwatch.fleet.dialects.exporters.gpu import CAMBRICON, HYGON, ILUVATAR, METAX
from accelwatch.fleet.dialects.exporters.intel import XPUM, XPUMD
from accelwatch.fleet.dialects.exporters.macmon import MACMON
from accelwatch.fleet.dialects.exporters.node_exporter import NODE_EXPORTER
from accelwatch.fleet.dialects.exporters.npu import (
    ASCEND,
    FURIOSA,
    GAUDI,
    NEURON,
    REBELLIONS,
    TENSTORRENT,
    TPU,
)
from accelwatch.fleet.dialects.exporters.nvidia_gpu_exporter import NVIDIA_GPU_EXPORTER
from accelwatch.fleet.dialects.exporters.nvitop import NVITOP
from accelwatch.fleet.dialects.ours.page import OURS

DIALECTS: tuple[Dialect, ...] = (
    OURS,
    dcgm.BASE_UNITS,
    dcgm.LEGACY,
    AMD,
    XPUMD,
    XPUM,
    GAUDI,
    ASCEND,
    REBELLIONS,
    FURIOSA,
    NEURON,
    TPU,
    TENSTORRENT,
    CAMBRICON,
    HYGON,
    ILUVATAR,
    METAX,
    NVIDIA_GPU_EXPORTER,
    NVITOP,
    MACMON,
    ALL_SMI,
    *BACKENDAI_DEVICES,
    BACKENDAI,
    NODE_EXPORTER,
    RED_HAT,
)
