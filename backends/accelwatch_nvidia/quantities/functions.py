"""Functions and structures of pynvml that are named in text, so that a test can look for each."""

from accelwatch_nvidia.quantities.calls import CALLS

# Functions that are called by name outside this table.
OTHER_FUNCTIONS = (
    "nvmlDeviceGetAttributes_v2",
    "nvmlDeviceGetArchitecture",
    "nvmlDeviceGetBoardPartNumber",
    "nvmlDeviceGetComputeInstanceId",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetFanSpeed",
    "nvmlDeviceGetFanSpeedRPM",
    "nvmlDeviceGetFanSpeed_v2",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetGridLicensableFeatures_v4",
    "nvmlDeviceGetGspFirmwareVersion",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetModuleId",
    "nvmlDeviceGetName",
    "nvmlDeviceGetNumFans",
    "nvmlDeviceGetNvLinkRemotePciInfo",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetPlatformInfo",
    "nvmlDeviceGetProcessUtilization",
    "nvmlDeviceGetRepairStatus",
    "nvmlDeviceGetSerial",
    "nvmlDeviceGetSramEccErrorStatus",
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetSupportedClocksThrottleReasons",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetVbiosVersion",
    "nvmlDeviceGetVirtualizationMode",
    "nvmlDeviceValidateInforom",
    "nvmlGpmMigSampleGet",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleGet",
)

# Every function of pynvml that is called by its name in text.
FUNCTIONS = tuple(
    sorted({function for row in CALLS for function in row.functions} | set(OTHER_FUNCTIONS))
)

# Newest first; the older one has no health summary.
FABRIC_STRUCTURES = ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t")

SRAM_STRUCTURES = ("c_nvmlEccSramErrorStatus_v1_t",)

PLATFORM_STRUCTURES = ("c_nvmlPlatformInfo_v2_t",)

# Every structure of pynvml that is named in text.
STRUCTURES = (*FABRIC_STRUCTURES, *SRAM_STRUCTURES, *PLATFORM_STRUCTURES)
