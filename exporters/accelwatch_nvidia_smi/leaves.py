"""The leaves of one `gpu` element of `nvidia-smi -q -x`, in document order: path, and what fills it.

A leaf is filled by a query field, so that the document and `--query-gpu` cannot differ. The shape is
that of nvsmi_device_v12.dtd; what nvidia-smi has and we never read is `N/A`, as on a part without it.
"""

from functools import cache

import msgspec

from accelwatch_nvidia_smi.fields import query_fields
from accelwatch_nvidia_smi.query_field import QueryField
from accelwatch_nvidia_smi.rows import MEBIBYTES, YES, scaled


class Leaf(msgspec.Struct, frozen=True):
    """One element with text: its path below `gpu`, the field, and what stands behind the value."""

    path: tuple[str, ...]
    field: QueryField | None
    suffix: str


def _quantity(name: str, *series: str, unit: str = "", factor: float = 1.0) -> QueryField:
    return QueryField((name,), unit, series=series, write=scaled(factor))


_ONLY_HERE = (
    QueryField(("architecture",), identity="architecture"),
    QueryField(("part_number",), identity="part_number"),
    QueryField(("firmware_version",), identity="firmware_version"),
    QueryField(("brand",), special="brand"),
    QueryField(("minor_number",), special="minor_number"),
    _quantity("replay", "pcie_errors_total", "replay"),
    _quantity("rollover", "pcie_errors_total", "replay_rollover"),
    _quantity(
        "transmit", "pcie_throughput_bytes_per_second", "transmit", unit="KB/s", factor=1e-3
    ),
    _quantity("receive", "pcie_throughput_bytes_per_second", "receive", unit="KB/s", factor=1e-3),
    QueryField(("bar1.total",), "MiB", series=("memory_pool_size_bytes", "bar1"), write=MEBIBYTES),
    QueryField(("bar1.used",), "MiB", series=("memory_pool_used_bytes", "bar1"), write=MEBIBYTES),
    QueryField(("reset_required",), series=("reset_required",), write=YES),
    *(
        _quantity(f"texture_shm.{error_kind}", "ecc_location_errors_total", error_kind, "texture_shm")
        for error_kind in ("corrected", "uncorrected")
    ),
    QueryField(("compute.pending",), series=("compute_repair_pending",), write=YES),
    QueryField(("unrepairable",), series=("memory_unrepairable",), write=YES),
    QueryField(
        ("slowdown.tlimit",), series=("temperature_headroom_celsius",), special="slowdown.tlimit",
        needs=("temperature_margin_celsius",),
    ),
    QueryField(
        ("repair.pending",), series=("memory_repair_pending",), special="repair.pending"
    ),
    _quantity("shutdown", "temperature_limit_celsius", "gpu", "shutdown"),
    _quantity("slowdown", "temperature_limit_celsius", "gpu", "slowdown"),
    _quantity("max_operating", "temperature_limit_celsius", "gpu", "max_operating"),
    _quantity("target", "temperature_limit_celsius", "gpu", "target"),
    _quantity("max_memory", "temperature_limit_celsius", "memory", "max_operating"),
    QueryField(
        ("memory.power",), "W", series=("power_component_watts", "memory"), write=scaled(1, 2)
    ),
    QueryField(
        ("graphics.voltage",), "mV", series=("voltage_volts", "graphics"), write=scaled(1000, 3)
    ),
    QueryField(
        ("clocks.max.video",), "MHz", series=("clock_limit_hertz", "video", "max"),
        write=scaled(1e-6),
    ),
)  # fmt: skip

# Path, field and suffix of a line, blanks between them; `_` is a blank of a suffix.
_TABLE = """
product_name                                    name
product_brand                                   brand
product_architecture                            architecture
display_mode
display_active
persistence_mode                                persistence_mode
mig_mode/current_mig                            mig.mode.current
mig_mode/pending_mig                            mig.mode.pending
mig_devices
accounting_mode
accounting_mode_buffer_size
driver_model/current_dm
driver_model/pending_dm
serial                                          serial
uuid                                            uuid
minor_number                                    minor_number
vbios_version                                   vbios_version
multigpu_board
board_id
board_part_number                               part_number
gpu_part_number
platformInfo/chassis_serial_number              platform.chassis_serial_number
platformInfo/slot_number                        platform.slot_number
platformInfo/tray_index                         platform.tray_index
platformInfo/host_id                            platform.host_id
platformInfo/peer_type
platformInfo/module_id                          platform.module_id
platformInfo/gpu_fabric_guid
inforom_version/img_version
inforom_version/oem_object
inforom_version/ecc_object
inforom_version/pwr_object
gpu_operation_mode/current_gom
gpu_operation_mode/pending_gom
gsp_firmware_version                            firmware_version
gpu_virtualization_mode/virtualization_mode
gpu_virtualization_mode/host_vgpu_mode
gpu_reset_status/reset_required                 reset_required
gpu_reset_status/drain_and_reset_recommended
gpu_recovery_action                             gpu_recovery_action
pci/pci_bus                                     pci.bus
pci/pci_device                                  pci.device
pci/pci_domain                                  pci.domain
pci/pci_device_id
pci/pci_bus_id                                  pci.bus_id
pci/pci_sub_system_id
pci/pci_gpu_link_info/pcie_gen/max_link_gen     pcie.link.gen.max
pci/pci_gpu_link_info/pcie_gen/current_link_gen pcie.link.gen.current
pci/pci_gpu_link_info/link_widths/max_link_width      pcie.link.width.max x
pci/pci_gpu_link_info/link_widths/current_link_width  pcie.link.width.current x
pci/replay_counter                              replay
pci/replay_rollover_counter                     rollover
pci/tx_util                                     transmit
pci/rx_util                                     receive
fan_speed                                       fan.speed
performance_state                               pstate
clocks_event_reasons/clocks_event_reason_gpu_idle            clocks_event_reasons.gpu_idle
clocks_event_reasons/clocks_event_reason_applications_clocks_setting  \
clocks_event_reasons.applications_clocks_setting
clocks_event_reasons/clocks_event_reason_sw_power_cap        clocks_event_reasons.sw_power_cap
clocks_event_reasons/clocks_event_reason_hw_slowdown         clocks_event_reasons.hw_slowdown
clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown clocks_event_reasons.hw_thermal_slowdown
clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown  \
clocks_event_reasons.hw_power_brake_slowdown
clocks_event_reasons/clocks_event_reason_sync_boost          clocks_event_reasons.sync_boost
clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown clocks_event_reasons.sw_thermal_slowdown
clocks_event_reasons/clocks_event_reason_display_clocks_setting
clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap  \
clocks_event_reasons_counters.sw_power_cap
clocks_event_reasons_counters/clocks_event_reasons_counters_sync_boost  \
clocks_event_reasons_counters.sync_boost
clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown  \
clocks_event_reasons_counters.sw_thermal_slowdown
clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown  \
clocks_event_reasons_counters.hw_thermal_slowdown
clocks_event_reasons_counters/clocks_event_reasons_counters_hw_power_brake  \
clocks_event_reasons_counters.hw_power_brake_slowdown
fb_memory_usage/total                           memory.total
fb_memory_usage/reserved                        memory.reserved
fb_memory_usage/used                            memory.used
fb_memory_usage/free                            memory.free
bar1_memory_usage/total                         bar1.total
bar1_memory_usage/used                          bar1.used
compute_mode
utilization/gpu_util                            utilization.gpu
utilization/memory_util                         utilization.memory
utilization/encoder_util                        utilization.encoder
utilization/decoder_util                        utilization.decoder
utilization/jpeg_util                           utilization.jpeg
utilization/ofa_util                            utilization.ofa
ecc_mode/current_ecc                            ecc.mode.current
ecc_mode/pending_ecc                            ecc.mode.pending
ecc_errors/volatile/single_bit/register_file   ecc.errors.corrected.volatile.register_file
ecc_errors/volatile/single_bit/l1_cache        ecc.errors.corrected.volatile.l1_cache
ecc_errors/volatile/single_bit/l2_cache        ecc.errors.corrected.volatile.l2_cache
ecc_errors/volatile/single_bit/texture_memory  ecc.errors.corrected.volatile.texture_memory
ecc_errors/volatile/single_bit/texture_shm     texture_shm.corrected
ecc_errors/volatile/single_bit/cbu             ecc.errors.corrected.volatile.cbu
ecc_errors/volatile/single_bit/total            ecc.errors.corrected.volatile.total
ecc_errors/volatile/double_bit/register_file   ecc.errors.uncorrected.volatile.register_file
ecc_errors/volatile/double_bit/l1_cache        ecc.errors.uncorrected.volatile.l1_cache
ecc_errors/volatile/double_bit/l2_cache        ecc.errors.uncorrected.volatile.l2_cache
ecc_errors/volatile/double_bit/texture_memory  ecc.errors.uncorrected.volatile.texture_memory
ecc_errors/volatile/double_bit/texture_shm     texture_shm.uncorrected
ecc_errors/volatile/double_bit/cbu             ecc.errors.uncorrected.volatile.cbu
ecc_errors/volatile/double_bit/total            ecc.errors.uncorrected.volatile.total
ecc_errors/volatile/sram_correctable            ecc.errors.corrected.volatile.sram
ecc_errors/volatile/sram_uncorrectable          ecc.errors.uncorrected.volatile.sram
ecc_errors/volatile/dram_correctable            ecc.errors.corrected.volatile.dram
ecc_errors/volatile/dram_uncorrectable          ecc.errors.uncorrected.volatile.dram
ecc_errors/aggregate/single_bit/total           ecc.errors.corrected.aggregate.total
ecc_errors/aggregate/double_bit/total           ecc.errors.uncorrected.aggregate.total
ecc_errors/aggregate/sram_correctable           ecc.errors.corrected.aggregate.sram
ecc_errors/aggregate/sram_uncorrectable         ecc.errors.uncorrected.aggregate.sram
ecc_errors/aggregate/dram_correctable           ecc.errors.corrected.aggregate.dram
ecc_errors/aggregate/dram_uncorrectable         ecc.errors.uncorrected.aggregate.dram
ecc_errors/aggregate/sram_threshold_exceeded  \
ecc.errors.uncorrected.aggregate.sram.thresholdExceeded
ecc_errors/tpc_repair_pending                   compute.pending
ecc_errors/unrepairable_memory                  unrepairable
ecc_errors/channel_repair_pending               repair.pending
retired_pages/multiple_single_bit_retirement/retired_count  retired_pages.single_bit_ecc.count
retired_pages/double_bit_retirement/retired_count           retired_pages.double_bit.count
retired_pages/pending_retirement                retired_pages.pending
remapped_rows/remapped_row_corr                 remapped_rows.correctable
remapped_rows/remapped_row_unc                  remapped_rows.uncorrectable
remapped_rows/remapped_row_corr_inactive        remapped_rows.correctable_inactive
remapped_rows/remapped_row_unc_inactive         remapped_rows.uncorrectable_inactive
remapped_rows/remapped_row_pending              remapped_rows.pending
remapped_rows/remapped_row_failure              remapped_rows.failure
remapped_rows/row_remapper_histogram/row_remapper_histogram_max  \
remapped_rows.histogram.max _bank(s)
remapped_rows/row_remapper_histogram/row_remapper_histogram_high  \
remapped_rows.histogram.high _bank(s)
remapped_rows/row_remapper_histogram/row_remapper_histogram_partial  \
remapped_rows.histogram.partial _bank(s)
remapped_rows/row_remapper_histogram/row_remapper_histogram_low  \
remapped_rows.histogram.low _bank(s)
remapped_rows/row_remapper_histogram/row_remapper_histogram_none  \
remapped_rows.histogram.none _bank(s)
temperature/gpu_temp                            temperature.gpu _C
temperature/gpu_temp_tlimit                     temperature.gpu.tlimit _C
temperature/gpu_temp_slow_tlimit_threshold      slowdown.tlimit _C
temperature/gpu_temp_max_threshold              shutdown _C
temperature/gpu_temp_slow_threshold             slowdown _C
temperature/gpu_temp_max_gpu_threshold          max_operating _C
temperature/gpu_target_temperature              target _C
temperature/memory_temp                         temperature.memory _C
temperature/gpu_temp_max_mem_threshold          max_memory _C
gpu_power_readings/power_state                  pstate
gpu_power_readings/power_draw                   power.draw
gpu_power_readings/average_power_draw           power.draw.average
gpu_power_readings/instant_power_draw           power.draw.instant
gpu_power_readings/current_power_limit          enforced.power.limit
gpu_power_readings/requested_power_limit        power.limit
gpu_power_readings/default_power_limit          power.default_limit
gpu_power_readings/min_power_limit              power.min_limit
gpu_power_readings/max_power_limit              power.max_limit
gpu_memory_power_readings/instant_power_draw    memory.power
module_power_readings/instant_power_draw        module.power.draw.instant
module_power_readings/current_power_limit       module.enforced.power.limit
module_power_readings/requested_power_limit     module.power.limit
module_power_readings/default_power_limit       module.power.default_limit
module_power_readings/min_power_limit           module.power.min_limit
module_power_readings/max_power_limit           module.power.max_limit
clocks/graphics_clock                           clocks.current.graphics
clocks/sm_clock                                 clocks.current.sm
clocks/mem_clock                                clocks.current.memory
clocks/video_clock                              clocks.current.video
applications_clocks/graphics_clock              clocks.applications.graphics
applications_clocks/mem_clock                   clocks.applications.memory
max_clocks/graphics_clock                       clocks.max.graphics
max_clocks/sm_clock                             clocks.max.sm
max_clocks/mem_clock                            clocks.max.memory
max_clocks/video_clock                          clocks.max.video
voltage/graphics_volt                           graphics.voltage
fabric/state                                    fabric.state
fabric/status                                   fabric.status
fabric/cliqueId                                 fabric.cliqueId
fabric/clusterUuid                              fabric.clusterUuid
fabric/health/summary                           fabric.health.summary
processes
"""


# Built on first use: only -q -x needs it. Constant after that.
@cache
def document_fields() -> dict[str, QueryField]:
    """What the document shows: every query field, and what it alone has."""
    return query_fields() | {field.names[0]: field for field in _ONLY_HERE}


# Parsing the table costs milliseconds; its text is constant.
@cache
def leaves() -> tuple[Leaf, ...]:
    """Every leaf, in document order; `mig_devices` and `processes` stand for what they hold."""
    fields = document_fields()
    rows: list[Leaf] = []
    for line in _TABLE.strip().splitlines():
        path, *remaining = line.split()
        name, suffix = (*remaining, "", "")[:2]
        field = fields[name] if name else None
        rows.append(Leaf(tuple(path.split("/")), field, suffix.replace("_", " ")))
    return tuple(rows)
