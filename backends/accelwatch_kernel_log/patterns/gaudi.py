"""Messages of habanalabs, the driver of Intel Gaudi. Wordings: drivers/accel/habanalabs."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, Verdict, row

# The PCI function, or the driver's own name: `hl0`, `accel0` since it is of the class accel, by which
# kernels print it then. Newer releases name the function before some messages as well.
_CARD = (
    rf"(?:habanalabs|accel) (?:{BDF}|(?P<subject>(?:hl|accel)\d+)): (?:[0-9a-f:]{{7,12}}\.[0-7] )?"
)
_EVENT = r"(?P<event>[A-Z][A-Za-z0-9_]{2,63})"
_ECC = "habanalabs_ecc"


def _interrupt(groups: dict[str, str]) -> Verdict:
    name = groups["event"].upper()
    if name.endswith("DERR"):
        return "habanalabs_ecc_uncorrected", Category.MEMORY_FATAL
    if name.endswith("SERR"):
        return "habanalabs_ecc_corrected", Category.MEMORY_CONTAINED
    return "habanalabs_interrupt", Category.OTHER


def _ecc(groups: dict[str, str]) -> Verdict | None:
    """By the flag that says whether the device needs a reset; without it by the name of the event."""
    name, critical = groups.get("event", "").upper(), groups.get("critical")
    if critical == "1" or (critical is None and name.endswith("DERR")):
        return "habanalabs_ecc_uncorrected", Category.MEMORY_FATAL
    if name.endswith("SERR"):
        return "habanalabs_ecc_corrected", Category.MEMORY_CONTAINED
    return None if critical is None else ("habanalabs_ecc_contained", Category.MEMORY_CONTAINED)


def _memory(groups: dict[str, str]) -> Verdict:
    severity = (groups.get("severity") or groups.get("critical") or "").lower()
    if severity in ("critical", "1"):
        return "habanalabs_hbm_critical", Category.MEMORY_FATAL
    return "habanalabs_hbm_error", Category.MEMORY_CONTAINED


GAUDI: tuple[Pattern, ...] = (
    row(
        "habanalabs_init_failed",
        Category.FIRMWARE,
        rf"habanalabs {BDF}: Failed to initialize (?P<name>(?:hl|accel)\d+)\. "
        r"Device (?:\S+ )?is NOT usable",
    ),
    row("habanalabs_reset_failed", Category.HANG, rf"{_CARD}Failed to reset! Device is NOT usable"),
    row("habanalabs_reset_begin", Category.OTHER, rf"{_CARD}Going to reset (?:the )?device"),
    row(
        "habanalabs_reset_succeeded",
        Category.OTHER,
        rf"{_CARD}Successfully finished resetting the (?:\S+ )?device",
    ),
    row(
        "habanalabs_cpucp_timeout",
        Category.FIRMWARE,
        rf"{_CARD}(?:Failed to communicate with Device CPU|Device CPU packet timeout)",
    ),
    row(
        "habanalabs_heartbeat",
        Category.HANG,
        rf"{_CARD}[Dd]evice heartbeat failed(?:! PCI link is (?P<pci_link>\w+))?",
    ),
    row(
        "habanalabs_submission_timeout",
        Category.HANG,
        rf"{_CARD}(?:(?:Signal|Wait|Collective Wait|Staged) )?[Cc]ommand submission (?P<sequence>\d+) "
        r"has not finished in",
    ),
    row(
        "habanalabs_overheating",
        Category.THERMAL,
        rf"{_CARD}Clock throttling due to overheating",
    ),
    row(
        "habanalabs_mmu_fault",
        Category.APPLICATION,
        rf"{_CARD}(?:{_EVENT}: )?(?P<hub>[HP]?MMU) page fault on va (?:range )?(?P<address>0x[0-9a-f]+)",
    ),
    row(
        "habanalabs_razwi",
        Category.APPLICATION,
        rf"{_CARD}(?:{_EVENT}: )?(?:RAZWI event caused by (?P<cause>illegal (?:read|write))"
        r"|(?P<engine>\w{1,64})-RAZWI SHARED RR (?:HBW|LBW) (?P<action>RD|WR) error)",
    ),
    row(
        "habanalabs_hbm_error",
        Category.MEMORY_CONTAINED,
        rf"{_CARD}(?:{_EVENT}: )?System (?:(?P<severity>[Cc]ritical|[Nn]on-[Cc]ritical) )?"
        r"Error Interrupt - (?P<place>HBM\(\d+\) MC\(\d+\) MC_CH\(\d+\) MC_PC\(\d+\))\. "
        r"(?:Critical\((?P<critical>\d)\)\. )?Error cause: (?P<cause>[^\n]+)",
        decide=_memory,
    ),
    row(
        _ECC,
        Category.MEMORY_CONTAINED,
        rf"{_CARD}(?:{_EVENT}: )?ECC error detected\. address: (?P<address>\w+)\. "
        r"Syndrome?: (?P<syndrome>\w+)\. block id:? (?P<block>\w+)(?:\. critical (?P<critical>\d))?",
        fault=_ECC,
        decide=_ecc,
    ),
    row(
        "habanalabs_interrupt",
        Category.OTHER,
        rf"{_CARD}Received H/W interrupt (?P<number>\d+) \[\"{_EVENT}\"\]",
        fault=_ECC,
        decide=_interrupt,
    ),
)
