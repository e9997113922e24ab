"""Why a run of nvidia-smi for one GPU brought nothing of it. Pure."""

from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceTimeout, ReadError
from accelwatch.base.failure_line import failure_line
from accelwatch.schema.device import Device
from accelwatch.system.processes.command import CommandResult
from accelwatch_nvidia import returns
from accelwatch_nvidia.smi import text as smi_text


def query_failure(device: Device, result: CommandResult) -> ReadError:
    """Why a run for one GPU brought no element."""
    if result.failure == "timeout":
        return DeviceTimeout(f"{device.name}: nvidia-smi did not end", code="timeout")
    if result.failure == "permission":
        return DevicePermission(f"{device.name}: nvidia-smi may not be run", code="permission")
    text = (result.output + result.errors).decode("utf-8", "replace")
    if failed := smi_text.gpu_failure(text):
        return returns.failure(failed.code, device.name, "nvidia-smi")
    if result.status == returns.GPU_IS_LOST:
        return returns.failure(returns.GPU_IS_LOST, device.name, "nvidia-smi")
    if result.status == returns.NOT_FOUND or "No devices were found" in text:
        return DeviceLost(f"{device.name}: nvidia-smi does not list it", code="not_listed")
    status = result.failure or f"status {result.status}"
    line = failure_line(text)
    what = f"{line} ({status})" if line and not line.startswith("<") else status
    return ReadError(f"{device.name}: nvidia-smi: {what}", code="nvidia_smi")
