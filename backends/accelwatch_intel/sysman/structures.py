"""C structures and numbers of Level Zero Sysman: include/zes_api.h and ze_api.h, version 1.12.

Only what we read. `uint32_t` and enumerations are four bytes, `ze_bool_t` is one.
"""

from ctypes import (
    Structure,
    c_char,
    c_double,
    c_int32,
    c_int64,
    c_ubyte,
    c_uint32,
    c_uint64,
    c_void_p,
)

_STRING = c_char * 64
_BASE = (("stype", c_uint32), ("pNext", c_void_p))
_SUBDEVICE = (("onSubdevice", c_ubyte), ("subdeviceId", c_uint32))


class CoreProperties(Structure):
    """ze_device_properties_t."""

    _fields_ = (
        *_BASE,
        ("type", c_uint32),
        ("vendorId", c_uint32),
        ("deviceId", c_uint32),
        ("flags", c_uint32),
        ("subdeviceId", c_uint32),
        ("coreClockRate", c_uint32),
        ("maxMemAllocSize", c_uint64),
        ("maxHardwareContexts", c_uint32),
        ("maxCommandQueuePriority", c_uint32),
        ("numThreadsPerEU", c_uint32),
        ("physicalEUSimdWidth", c_uint32),
        ("numEUsPerSubslice", c_uint32),
        ("numSubslicesPerSlice", c_uint32),
        ("numSlices", c_uint32),
        ("timerResolution", c_uint64),
        ("timestampValidBits", c_uint32),
        ("kernelTimestampValidBits", c_uint32),
        ("uuid", c_ubyte * 16),
        ("name", c_char * 256),
    )


class DeviceProperties(Structure):
    """zes_device_properties_t; strings are "unknown" where the driver does not know."""

    _fields_ = (
        *_BASE,
        ("core", CoreProperties),
        ("numSubdevices", c_uint32),
        ("serialNumber", _STRING),
        ("boardNumber", _STRING),
        ("brandName", _STRING),
        ("modelName", _STRING),
        ("vendorName", _STRING),
        ("driverVersion", _STRING),
    )


class PciSpeed(Structure):
    """zes_pci_speed_t; -1 is unknown."""

    _fields_ = (("gen", c_int32), ("width", c_int32), ("maxBandwidth", c_int64))


class PciProperties(Structure):
    """zes_pci_properties_t."""

    _fields_ = (
        *_BASE,
        ("domain", c_uint32),
        ("bus", c_uint32),
        ("device", c_uint32),
        ("function", c_uint32),
        ("maxSpeed", PciSpeed),
        ("haveBandwidthCounters", c_ubyte),
        ("havePacketCounters", c_ubyte),
        ("haveReplayCounters", c_ubyte),
    )


class PciStats(Structure):
    """zes_pci_stats_t; counters are 0 where the properties say they are not there."""

    _fields_ = (
        ("timestamp", c_uint64),
        ("replayCounter", c_uint64),
        ("packetCounter", c_uint64),
        ("rxCounter", c_uint64),
        ("txCounter", c_uint64),
        ("speed", PciSpeed),
    )


class DeviceState(Structure):
    """zes_device_state_t; `reset` has bit 1 for a wedged device, bit 2 for a repair."""

    _fields_ = (*_BASE, ("reset", c_uint32), ("repaired", c_uint32))


class EccProperties(Structure):
    """zes_device_ecc_properties_t; states: 0 unavailable, 1 enabled, 2 disabled."""

    _fields_ = (
        *_BASE,
        ("currentState", c_uint32),
        ("pendingState", c_uint32),
        ("pendingAction", c_uint32),
    )


class ProcessState(Structure):
    """zes_process_state_t; bytes, and a mask of engine types."""

    _fields_ = (
        *_BASE,
        ("processId", c_uint32),
        ("memSize", c_uint64),
        ("sharedSize", c_uint64),
        ("engines", c_uint32),
    )


class MemoryProperties(Structure):
    """zes_mem_properties_t; `location` is 0 for host memory, 1 for device memory."""

    _fields_ = (
        *_BASE,
        ("type", c_uint32),
        *_SUBDEVICE,
        ("location", c_uint32),
        ("physicalSize", c_uint64),
        ("busWidth", c_int32),
        ("numChannels", c_int32),
    )


class MemoryState(Structure):
    """zes_mem_state_t; bytes."""

    _fields_ = (*_BASE, ("health", c_uint32), ("free", c_uint64), ("size", c_uint64))


class MemoryBandwidth(Structure):
    """zes_mem_bandwidth_t; bytes, bytes a second, microseconds."""

    _fields_ = (
        ("readCounter", c_uint64),
        ("writeCounter", c_uint64),
        ("maxBandwidth", c_uint64),
        ("timestamp", c_uint64),
    )


class PowerProperties(Structure):
    """zes_power_properties_t; milliwatts, -1 is unknown."""

    _fields_ = (
        *_BASE,
        *_SUBDEVICE,
        ("canControl", c_ubyte),
        ("isEnergyThresholdSupported", c_ubyte),
        ("defaultLimit", c_int32),
        ("minLimit", c_int32),
        ("maxLimit", c_int32),
    )


class EnergyCounter(Structure):
    """zes_power_energy_counter_t; microjoules and microseconds."""

    _fields_ = (("energy", c_uint64), ("timestamp", c_uint64))


class PowerLimit(Structure):
    """zes_power_limit_ext_desc_t; `limit` is in milliwatts when `limitUnit` is 2."""

    _fields_ = (
        *_BASE,
        ("level", c_uint32),
        ("source", c_uint32),
        ("limitUnit", c_uint32),
        ("enabledStateLocked", c_ubyte),
        ("enabled", c_ubyte),
        ("intervalValueLocked", c_ubyte),
        ("interval", c_int32),
        ("limitValueLocked", c_ubyte),
        ("limit", c_int32),
    )


class FrequencyProperties(Structure):
    """zes_freq_properties_t; megahertz."""

    _fields_ = (
        *_BASE,
        ("type", c_uint32),
        *_SUBDEVICE,
        ("canControl", c_ubyte),
        ("isThrottleEventSupported", c_ubyte),
        ("min", c_double),
        ("max", c_double),
    )


class FrequencyState(Structure):
    """zes_freq_state_t; volts and megahertz, negative is unknown."""

    _fields_ = (
        *_BASE,
        ("currentVoltage", c_double),
        ("request", c_double),
        ("tdp", c_double),
        ("efficient", c_double),
        ("actual", c_double),
        ("throttleReasons", c_uint32),
    )


class TemperatureProperties(Structure):
    """zes_temp_properties_t; celsius."""

    _fields_ = (
        *_BASE,
        ("type", c_uint32),
        *_SUBDEVICE,
        ("maxTemperature", c_double),
        ("isCriticalTempSupported", c_ubyte),
        ("isThreshold1Supported", c_ubyte),
        ("isThreshold2Supported", c_ubyte),
    )


class EngineProperties(Structure):
    """zes_engine_properties_t."""

    _fields_ = (*_BASE, ("type", c_uint32), *_SUBDEVICE)


class EngineStats(Structure):
    """zes_engine_stats_t; both of the same unit, so that their deltas give a ratio."""

    _fields_ = (("activeTime", c_uint64), ("timestamp", c_uint64))


class RasProperties(Structure):
    """zes_ras_properties_t; type 0 is correctable, 1 uncorrectable."""

    _fields_ = (*_BASE, ("type", c_uint32), *_SUBDEVICE)


class RasState(Structure):
    """zes_ras_state_t; counts by category, in the order of zes_ras_error_cat_t."""

    _fields_ = (*_BASE, ("category", c_uint64 * 7))


class RasCount(Structure):
    """zes_ras_state_exp_t; the count of one category, memory included."""

    _fields_ = (("category", c_uint32), ("errorCounter", c_uint64))


class FabricPortId(Structure):
    """zes_fabric_port_id_t."""

    _fields_ = (("fabricId", c_uint32), ("attachId", c_uint32), ("portNumber", c_ubyte))


class FabricSpeed(Structure):
    """zes_fabric_port_speed_t."""

    _fields_ = (("bitRate", c_int64), ("width", c_int32))


class FabricPortProperties(Structure):
    """zes_fabric_port_properties_t."""

    _fields_ = (
        *_BASE,
        ("model", c_char * 256),
        *_SUBDEVICE,
        ("portId", FabricPortId),
        ("maxRxSpeed", FabricSpeed),
        ("maxTxSpeed", FabricSpeed),
    )


class FabricPortState(Structure):
    """zes_fabric_port_state_t; status 1 healthy, 2 degraded, 3 failed, 4 disabled, 0 unknown."""

    _fields_ = (
        *_BASE,
        ("status", c_uint32),
        ("qualityIssues", c_uint32),
        ("failureReasons", c_uint32),
        ("remotePortId", FabricPortId),
        ("rxSpeed", FabricSpeed),
        ("txSpeed", FabricSpeed),
    )


class FabricThroughput(Structure):
    """zes_fabric_port_throughput_t; bytes."""

    _fields_ = (("timestamp", c_uint64), ("rxCounter", c_uint64), ("txCounter", c_uint64))


class FabricErrors(Structure):
    """zes_fabric_port_error_counters_t; link counters are per port, firmware counters per device."""

    _fields_ = (
        *_BASE,
        ("linkFailureCount", c_uint64),
        ("fwCommErrorCount", c_uint64),
        ("fwErrorCount", c_uint64),
        ("linkDegradeCount", c_uint64),
    )


# zes_structure_type_t of the structures that carry it; a driver refuses one that is not set.
STYPES: dict[type[Structure], int] = {
    DeviceProperties: 0x1,
    PciProperties: 0x2,
    EngineProperties: 0x5,
    FabricPortProperties: 0x6,
    FrequencyProperties: 0x9,
    MemoryProperties: 0xB,
    PowerProperties: 0xD,
    RasProperties: 0xF,
    TemperatureProperties: 0x14,
    DeviceState: 0x15,
    ProcessState: 0x16,
    FabricPortState: 0x19,
    FrequencyState: 0x1B,
    MemoryState: 0x1E,
    RasState: 0x22,
    EccProperties: 0x26,
    PowerLimit: 0x27,
    FabricErrors: 0x2A,
}
