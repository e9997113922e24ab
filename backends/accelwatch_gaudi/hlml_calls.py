"""The table of libhlml's calls: which field each answer is. Fields have the names of hl-smi's query."""

from typing import NamedTuple


class Call(NamedTuple):
    """A call that answers with one number: its field, arguments, unit and width."""

    field: str
    function: str
    arguments: tuple[int, ...] = ()
    unit: str = ""
    wide: bool = False
    # Index in the structure.
    at: int = 0
    # Hardly ever changes, or costs much.
    slow: bool = False


_TEMPERATURE = "hlml_device_get_temperature"
_THRESHOLD = "hlml_device_get_temperature_threshold"
_ECC, _LOCATED = "hlml_device_get_total_ecc_errors", "hlml_device_get_memory_error_counter"

# Arguments are of the enumerations in hlml.h: sensors, thresholds, clocks; corrected and uncorrected;
# volatile and aggregate; SRAM and DRAM.
CALLS: tuple[Call, ...] = (
    Call("utilization.aip", "hlml_device_get_utilization_rates", unit="%"),
    Call("memory.total", "hlml_device_get_memory_info", unit="B", wide=True, at=1),
    Call("memory.used", "hlml_device_get_memory_info", unit="B", wide=True, at=2),
    Call("power.draw", "hlml_device_get_power_usage", unit="mW"),
    Call("power.max", "hlml_device_get_power_management_limit", unit="mW", slow=True),
    Call("power.default", "hlml_device_get_power_management_default_limit", unit="mW", slow=True),
    Call("temperature.aip", _TEMPERATURE, (0,), "C"),
    Call("temperature.board", _TEMPERATURE, (1,), "C", slow=True),
    Call("temperature.hbm", _TEMPERATURE, (3,), "C", slow=True),
    Call("temperature.vrm", _TEMPERATURE, (4,), "C", slow=True),
    Call("temperature.shutdown", _THRESHOLD, (0,), "C", slow=True),
    Call("temperature.slowdown", _THRESHOLD, (1,), "C", slow=True),
    Call("clocks.current.soc", "hlml_device_get_clock_info", (0,), "MHz"),
    Call("clocks.max.soc", "hlml_device_get_max_clock_info", (0,), "MHz", slow=True),
    Call("energy", "hlml_device_get_total_energy_consumption", unit="mJ", wide=True),
    Call("throttle", "hlml_device_get_current_clocks_throttle_reasons", wide=True),
    Call("ecc.errors.corrected.volatile.total", _ECC, (0, 0), wide=True),
    Call("ecc.errors.uncorrected.volatile.total", _ECC, (1, 0), wide=True),
    Call("ecc.errors.corrected.aggregate.total", _ECC, (0, 1), wide=True, slow=True),
    Call("ecc.errors.uncorrected.aggregate.total", _ECC, (1, 1), wide=True, slow=True),
    Call("ecc.errors.sram-corrected.volatile.total", _LOCATED, (0, 0, 0), wide=True, slow=True),
    Call("ecc.errors.sram.volatile.total", _LOCATED, (1, 0, 0), wide=True, slow=True),
    Call("ecc.errors.dram-corrected.volatile.total", _LOCATED, (0, 0, 1), wide=True, slow=True),
    Call("ecc.errors.dram.volatile.total", _LOCATED, (1, 0, 1), wide=True, slow=True),
    Call("rows.pending", "hlml_device_get_replaced_rows_pending_status"),
    Call("pcie.replay", "hlml_device_get_pcie_replay_counter", slow=True),
    Call("pcie.link.gen.current", "hlml_device_get_curr_pcie_link_generation", slow=True),
    Call("pcie.link.width.current", "hlml_device_get_curr_pcie_link_width", slow=True),
    Call("module_id", "hlml_device_get_module_id", slow=True),
)
# hlml_row_replacement_cause_t: many single-bit errors, one double-bit error.
ROWS = (("rows.corrected", 0), ("rows.uncorrected", 1))
TEXTS = (
    ("name", "hlml_device_get_name"),
    ("serial", "hlml_device_get_serial"),
    ("firmware", "hlml_get_firmware_spi_version"),
)
