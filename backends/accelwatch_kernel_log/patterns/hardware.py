"""Messages about the host's hardware: machine checks, memory modules, PCIe, network cards.

Wordings of what is rarely recorded: drivers/pci/pcie/dpc.c, drivers/pci/hotplug/pciehp_ctrl.c,
drivers/net/ethernet/mellanox/mlx5/core, arch/x86/kernel/cpu/mce/therm_throt.c.
"""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, Verdict, row

_PCIE_FOLD_S = 60.0
_DAY_S = 86400.0


def _pcie(groups: dict[str, str]) -> Verdict:
    severity = groups["severity"].lower()
    if severity.startswith("correct"):
        return "pcie_corrected", Category.LINK
    if "non-fatal" in severity or "nonfatal" in severity:
        return "pcie_uncorrected_nonfatal", Category.BUS
    return "pcie_uncorrected_fatal", Category.BUS


def _edac(groups: dict[str, str]) -> Verdict:
    if groups["severity"] == "UE":
        return "edac_ue", Category.MEMORY_FATAL
    return "edac_ce", Category.MEMORY_CONTAINED


def _module(groups: dict[str, str]) -> Verdict | None:
    event = groups["event"].lower()
    if "temperature" in event:
        return "mlx5_module_temperature", Category.THERMAL
    if "cable plugged" in event:
        return None
    return "mlx5_port_module_event", Category.LINK


# Severities with rules of their own (cper_severity_strs, drivers/firmware/efi).
_RECORDS = {"fatal": "hardware_error_fatal", "corrected": "hardware_error_corrected"}


def _record(groups: dict[str, str]) -> Verdict:
    severity = groups["severity"].lower()
    severity = "corrected" if severity == "info" else severity
    return _RECORDS.get(severity, "hardware_error"), Category.OTHER


HARDWARE: tuple[Pattern, ...] = (
    row(
        "machine_check",
        Category.OTHER,
        r"mce: \[Hardware Error\]: (?:Machine check events logged|CPU (?P<cpu>\d+): Machine Check)",
    ),
    row(
        "hardware_error",
        Category.OTHER,
        r"(?:\{\d+\})?\[Hardware Error\]: +event severity: (?P<severity>\w+)",
        decide=_record,
    ),
    row(
        "edac",
        Category.OTHER,
        r"EDAC (?P<controller>MC\d+): (?P<count>\d+) (?P<severity>UE|CE)(?: [^\n]*?)? on "
        r"(?P<subject>[^\n(]+?) \(",
        decide=_edac,
    ),
    row(
        "pcie",
        Category.BUS,
        r"pcieport (?P<port>[0-9a-f:.]+): AER: (?:Multiple )?"
        r"(?P<severity>Correct\w+|Uncorrect\w+(?: \([\w-]+\))?) error (?:message )?received"
        rf"(?: from|:) {BDF}",
        fold_s=_PCIE_FOLD_S,
        decide=_pcie,
    ),
    row(
        "pcie",
        Category.BUS,
        rf"\S+ {BDF}: (?:AER: )?PCIe Bus Error: "
        r"severity=(?P<severity>Correct\w+|Uncorrect\w+(?: \([\w-]+\))?)(?:, type=(?P<layer>[\w ]+))?",
        fold_s=_PCIE_FOLD_S,
        decide=_pcie,
    ),
    row(
        "mlx5_insufficient_power",
        Category.POWER,
        rf"mlx5_core {BDF}[^\n]*?insufficient power on the PCIe slot",
    ),
    row(
        "mlx5_port_module_event",
        Category.LINK,
        rf"mlx5_core {BDF}[^\n]*?Port module event(?:\[error\])?: module \d+, (?P<event>[^\n]+)",
        decide=_module,
    ),
    row(
        "mlx5_access_reg_failed",
        Category.OTHER,
        rf"mlx5_core {BDF}[^\n]*?ACCESS_REG\(\w+\)[^\n]*? failed",
        fold_s=_DAY_S,
    ),
    row(
        "mlx5_health_compromised",
        Category.FIRMWARE,
        rf"mlx5_core {BDF}[^\n]*?device's health compromised",
    ),
    row(
        "mlx5_fatal",
        Category.FIRMWARE,
        rf"mlx5_core {BDF}[^\n]*?Fatal error (?P<error>\d+) detected",
    ),
    row("mlx5_link_down", Category.LINK, rf"mlx5_core {BDF} (?P<port>[\w.-]+): Link down"),
    row(
        "pcie_slot_link_down",
        Category.BUS,
        rf"pcieport {BDF}: pciehp: Slot\((?P<slot>[^)\n]*)\): (?:Link Down|Card not present)",
    ),
    row(
        "pcie_contained",
        Category.BUS,
        rf"pcieport {BDF}: DPC: containment event, status:(?P<status>0x[0-9a-f]+)",
    ),
    row(
        "cpu_throttled",
        Category.THERMAL,
        r"(?:mce: )?CPU(?P<cpu>\d+): (?P<part>Core|Package) temperature (?:is )?above threshold",
        fold_s=_DAY_S,
    ),
)
