"""All patterns, in the order in which they are tried."""

from accelwatch_kernel_log.amd import AMD
from accelwatch_kernel_log.hardware import HARDWARE
from accelwatch_kernel_log.host import HOST
from accelwatch_kernel_log.intel import INTEL
from accelwatch_kernel_log.npu import NPU
from accelwatch_kernel_log.nvidia import NVIDIA
from accelwatch_kernel_log.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (*NVIDIA, *AMD, *INTEL, *NPU, *HOST, *HARDWARE)
