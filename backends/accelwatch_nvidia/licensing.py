"""Whether a virtual GPU is licensed; without a license the driver throttles it."""

from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_nvidia.nvml import DeviceCalls

VIRTUAL = 2
"""NVML_GPU_VIRTUALIZATION_MODE_VGPU: of a guest. Others list products that need no license there."""
LICENSES = {
    1: "uninitialized",
    2: "unlicensed_unrestricted",
    3: "unlicensed_restricted",
    4: "unlicensed",
    5: "licensed",
}
"""NVML_GRID_LICENSE_STATE_* (nvml.h)."""
_LICENSED = "licensed"


def read_license(calls: DeviceCalls, collected: Collected) -> None:
    """The state of a virtual GPU's license; unsupported on any other GPU."""
    mode = calls.ask("nvmlDeviceGetVirtualizationMode")
    if isinstance(mode, Absence) or mode != VIRTUAL:
        why = mode if isinstance(mode, Absence) else Absence.UNSUPPORTED
        collected.miss("vgpu_license_info", why)
        return
    answer = calls.ask("nvmlDeviceGetGridLicensableFeatures_v4")
    if isinstance(answer, Absence):
        collected.miss("vgpu_license_info", answer)
        return
    listed = answer.gridLicensableFeatures[: answer.licensableFeaturesCount]
    states = [
        LICENSES[feature.featureState] for feature in listed if feature.featureState in LICENSES
    ]
    if not states:
        collected.miss("vgpu_license_info", Absence.ERROR if listed else Absence.UNSUPPORTED)
        return
    collected.put("vgpu_license_info", 1, _LICENSED if _LICENSED in states else states[0])
