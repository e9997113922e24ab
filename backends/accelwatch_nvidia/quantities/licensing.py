"""Whether a virtual GPU is licensed; without a license the driver throttles it."""

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_nvidia.nvml.nvml import DeviceCalls

# NVML_GPU_VIRTUALIZATION_MODE_VGPU: of a guest. Others list products that need no license there.
VIRTUAL = 2
# Of NVML_GRID_LICENSE_STATE_* (nvml.h), which nvidia-smi prints and NVML gives on the host only.
STATES = frozenset(
    {
        "uninitialized",
        "unlicensed_unrestricted",
        "unlicensed_restricted",
        "unlicensed",
        "licensed",
    }
)


def read_license(calls: DeviceCalls, collected: Collected) -> None:
    """The state of a virtual GPU's license; unsupported on any other GPU."""
    mode = calls.query("nvmlDeviceGetVirtualizationMode")
    if isinstance(mode, Absence) or mode != VIRTUAL:
        why = mode if isinstance(mode, Absence) else Absence.UNSUPPORTED
        collected.miss("vgpu_license_info", why)
        return
    answer = calls.query("nvmlDeviceGetGridLicensableFeatures_v4")
    if isinstance(answer, Absence):
        collected.miss("vgpu_license_info", answer)
        return
    listed = answer.gridLicensableFeatures[: answer.licensableFeaturesCount]
    # "Non-zero if feature is currently licensed, otherwise zero" (nvml.h): not one of the states above.
    if any(feature.featureState for feature in listed):
        collected.put("vgpu_license_info", 1, "licensed")
    elif any(feature.featureEnabled for feature in listed):
        collected.put("vgpu_license_info", 1, "unlicensed")
    else:
        collected.miss("vgpu_license_info", Absence.UNSUPPORTED)
