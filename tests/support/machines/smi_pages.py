"""Turns the page of `nvidia-smi -q` in a captured session into the document of `nvidia-smi -q -x`.

Both print the same values; the captures hold the page beside the answers of `--query-gpu`, and no
document. Only what our reader reads is carried over.
"""

import re
import xml.etree.ElementTree as ET

_LINE = re.compile(r"( +)(\S.*?)(?: +: (.*))?$")
_ELEMENTS = """
Product Name: product_name
Product Architecture: product_architecture
Persistence Mode: persistence_mode
MIG Mode/Current: mig_mode/current_mig
MIG Mode/Pending: mig_mode/pending_mig
Serial Number: serial
GPU UUID: uuid
VBIOS Version: vbios_version
Platform Info/Module Id: platformInfo/module_id
GPU Recovery Action: gpu_recovery_action
PCI/Bus Id: pci/pci_bus_id
PCI/GPU Link Info/PCIe Generation/Max: pci/pci_gpu_link_info/pcie_gen/max_link_gen
PCI/GPU Link Info/PCIe Generation/Current: pci/pci_gpu_link_info/pcie_gen/current_link_gen
PCI/GPU Link Info/Link Width/Max: pci/pci_gpu_link_info/link_widths/max_link_width
PCI/GPU Link Info/Link Width/Current: pci/pci_gpu_link_info/link_widths/current_link_width
Fan Speed: fan_speed
Performance State: performance_state
Clocks Event Reasons/Idle: clocks_event_reasons/clocks_event_reason_gpu_idle
Clocks Event Reasons/Applications Clocks Setting: \
clocks_event_reasons/clocks_event_reason_applications_clocks_setting
Clocks Event Reasons/SW Power Cap: clocks_event_reasons/clocks_event_reason_sw_power_cap
Clocks Event Reasons/HW Slowdown: clocks_event_reasons/clocks_event_reason_hw_slowdown
Clocks Event Reasons/HW Thermal Slowdown: \
clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown
Clocks Event Reasons/HW Power Brake Slowdown: \
clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown
Clocks Event Reasons/Sync Boost: clocks_event_reasons/clocks_event_reason_sync_boost
Clocks Event Reasons/SW Thermal Slowdown: \
clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown
Clocks Event Reasons/Display Clock Setting: \
clocks_event_reasons/clocks_event_reason_display_clocks_setting
Clocks Event Reasons Counters/SW Power Capping: \
clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap
Clocks Event Reasons Counters/Sync Boost: \
clocks_event_reasons_counters/clocks_event_reasons_counters_sync_boost
Clocks Event Reasons Counters/SW Thermal Slowdown: \
clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown
Clocks Event Reasons Counters/HW Thermal Slowdown: \
clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown
Clocks Event Reasons Counters/HW Power Braking: \
clocks_event_reasons_counters/clocks_event_reasons_counters_hw_power_brake
FB Memory Usage/Total: fb_memory_usage/total
FB Memory Usage/Reserved: fb_memory_usage/reserved
FB Memory Usage/Used: fb_memory_usage/used
Utilization/GPU: utilization/gpu_util
Utilization/Memory: utilization/memory_util
Utilization/Encoder: utilization/encoder_util
Utilization/Decoder: utilization/decoder_util
Utilization/JPEG: utilization/jpeg_util
Utilization/OFA: utilization/ofa_util
ECC Mode/Current: ecc_mode/current_ecc
ECC Mode/Pending: ecc_mode/pending_ecc
ECC Errors/Volatile/SRAM Correctable: ecc_errors/volatile/sram_correctable
ECC Errors/Volatile/SRAM Uncorrectable Parity: ecc_errors/volatile/sram_uncorrectable_parity
ECC Errors/Volatile/SRAM Uncorrectable SEC-DED: ecc_errors/volatile/sram_uncorrectable_secded
ECC Errors/Volatile/DRAM Correctable: ecc_errors/volatile/dram_correctable
ECC Errors/Volatile/DRAM Uncorrectable: ecc_errors/volatile/dram_uncorrectable
ECC Errors/Aggregate/SRAM Correctable: ecc_errors/aggregate/sram_correctable
ECC Errors/Aggregate/SRAM Uncorrectable Parity: ecc_errors/aggregate/sram_uncorrectable_parity
ECC Errors/Aggregate/SRAM Uncorrectable SEC-DED: ecc_errors/aggregate/sram_uncorrectable_secded
ECC Errors/Aggregate/DRAM Correctable: ecc_errors/aggregate/dram_correctable
ECC Errors/Aggregate/DRAM Uncorrectable: ecc_errors/aggregate/dram_uncorrectable
ECC Errors/Aggregate/SRAM Threshold Exceeded: ecc_errors/aggregate/sram_threshold_exceeded
Retired Pages/Single Bit ECC: retired_pages/multiple_single_bit_retirement/retired_count
Retired Pages/Double Bit ECC: retired_pages/double_bit_retirement/retired_count
Retired Pages/Pending Page Blacklist: retired_pages/pending_retirement
Remapped Rows/Correctable Error: remapped_rows/remapped_row_corr
Remapped Rows/Uncorrectable Error: remapped_rows/remapped_row_unc
Remapped Rows/Pending: remapped_rows/remapped_row_pending
Remapped Rows/Remapping Failure Occurred: remapped_rows/remapped_row_failure
Remapped Rows/Bank Remap Availability Histogram/Max: \
remapped_rows/row_remapper_histogram/row_remapper_histogram_max
Remapped Rows/Inactive Correctable Error: remapped_rows/remapped_row_corr_inactive
Remapped Rows/Inactive Uncorrectable Error: remapped_rows/remapped_row_unc_inactive
Remapped Rows/Bank Remap Availability Histogram/High: \
remapped_rows/row_remapper_histogram/row_remapper_histogram_high
Remapped Rows/Bank Remap Availability Histogram/Partial: \
remapped_rows/row_remapper_histogram/row_remapper_histogram_partial
Remapped Rows/Bank Remap Availability Histogram/Low: \
remapped_rows/row_remapper_histogram/row_remapper_histogram_low
Remapped Rows/Bank Remap Availability Histogram/None: \
remapped_rows/row_remapper_histogram/row_remapper_histogram_none
Temperature/GPU Current Temp: temperature/gpu_temp
Temperature/GPU T.Limit Temp: temperature/gpu_temp_tlimit
Temperature/Memory Current Temp: temperature/memory_temp
GPU Power Readings/Average Power Draw: gpu_power_readings/average_power_draw
GPU Power Readings/Instantaneous Power Draw: gpu_power_readings/instant_power_draw
GPU Power Readings/Current Power Limit: gpu_power_readings/current_power_limit
GPU Power Readings/Requested Power Limit: gpu_power_readings/requested_power_limit
GPU Power Readings/Default Power Limit: gpu_power_readings/default_power_limit
GPU Power Readings/GPU Ceiling Power Limit/Current Power Limit: \
gpu_power_readings/current_power_limit
GPU Power Readings/GPU Ceiling Power Limit/Requested Power Limit: \
gpu_power_readings/requested_power_limit
GPU Power Readings/GPU Ceiling Power Limit/Default Power Limit: \
gpu_power_readings/default_power_limit
GPU Power Readings/Min Power Limit: gpu_power_readings/min_power_limit
GPU Power Readings/Max Power Limit: gpu_power_readings/max_power_limit
Clocks/Graphics: clocks/graphics_clock
Clocks/SM: clocks/sm_clock
Clocks/Memory: clocks/mem_clock
Clocks/Video: clocks/video_clock
Max Clocks/Graphics: max_clocks/graphics_clock
Max Clocks/SM: max_clocks/sm_clock
Max Clocks/Memory: max_clocks/mem_clock
Fabric/State: fabric/state
Fabric/Status: fabric/status
Fabric/CliqueId: fabric/cliqueId
Fabric/ClusterUUID: fabric/clusterUuid
"""
ELEMENTS = dict(line.split(": ") for line in _ELEMENTS.strip().splitlines())


def values(page: str) -> dict[str, str]:
    """Text of each line of the first GPU by its headings; the children of a value are its siblings."""
    found: dict[str, str] = {}
    headings: list[tuple[int, str]] = []
    for line in page.split("\nGPU ", 1)[1].splitlines()[1:]:
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        depth = len(match[1])
        headings = [heading for heading in headings if heading[0] < depth]
        label = match[2].strip()
        if match[3] is None:
            headings.append((depth, label))
        else:
            found.setdefault("/".join([*(name for _, name in headings), label]), match[3].strip())
    return found


def document(page: str) -> bytes:
    """The document of the page's first GPU."""
    root = ET.Element("nvidia_smi_log")
    driver = re.search(r"^Driver Version +: (\S+)", page, flags=re.MULTILINE)
    ET.SubElement(root, "driver_version").text = driver[1] if driver else ""
    gpu = ET.SubElement(root, "gpu")
    for heading, text in values(page).items():
        at = gpu
        for tag in ELEMENTS[heading].split("/") if heading in ELEMENTS else ():
            below = at.find(tag)
            at = ET.SubElement(at, tag) if below is None else below
        if at is not gpu:
            at.text = text
    return ET.tostring(root)
