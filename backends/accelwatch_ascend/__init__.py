"""Huawei Ascend NPUs (310, 310P, 910, 910B, A3, 950), through npu-smi."""

from accelwatch_ascend.backend import AscendBackend

__all__ = ["AscendBackend"]
