"""The dialects we read, ours first. A new one is a module with a table and a line here."""

from accelwatch.fleet.dialects import dcgm
from accelwatch.fleet.dialects.all_smi import ALL_SMI
from accelwatch.fleet.dialects.amd import AMD
from accelwatch.fleet.dialects.generic import RED_HAT
from accelwatch.fleet.dialects.intel import XPUM, XPUMD
from accelwatch.fleet.dialects.macmon import MACMON
from accelwatch.fleet.dialects.node_exporter import NODE_EXPORTER
from accelwatch.fleet.dialects.npu import (
    ASCEND,
    FURIOSA,
    GAUDI,
    NEURON,
    REBELLIONS,
    TENSTORRENT,
    TPU,
)
from accelwatch.fleet.dialects.nvidia_gpu_exporter import NVIDIA_GPU_EXPORTER
from accelwatch.fleet.dialects.nvitop import NVITOP
from accelwatch.fleet.dialects.ours import OURS
from accelwatch.fleet.dialects.table import Dialect

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
    NVIDIA_GPU_EXPORTER,
    NVITOP,
    MACMON,
    ALL_SMI,
    NODE_EXPORTER,
    RED_HAT,
)
