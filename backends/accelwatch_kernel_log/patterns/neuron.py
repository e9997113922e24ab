"""Messages of the driver of AWS Neuron. Wordings: the driver's source and the troubleshooting guide."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import Pattern, Verdict, row

# The module, then the function that says it.
_PREFIX = r"neuron: ?\w+: "
# The values of NEURON_HW_ERR in the Neuron runtime's troubleshooting guide.
_HARDWARE = {
    "SRAM_UNCORRECTABLE_ERROR": Category.MEMORY_FATAL,
    "NC_UNCORRECTABLE_ERROR": Category.MEMORY_FATAL,
    "HBM_UNCORRECTABLE_ERROR": Category.MEMORY_FATAL,
    "DMA_ERROR": Category.BUS,
}


def _name(groups: dict[str, str]) -> None:
    groups["subject"] = f"neuron{int(groups['subject'])}"


def _hardware(groups: dict[str, str]) -> Verdict:
    _name(groups)
    kind = groups["kind"]
    if kind not in _HARDWARE:
        return "neuron_hw_error", Category.OTHER
    return f"neuron_{kind.lower()}", _HARDWARE[kind]


def _of_device(code: str, category: Category, regex: str) -> Pattern:
    def decide(groups: dict[str, str]) -> Verdict:
        _name(groups)
        return code, category

    return row(code, category, regex, decide=decide)


NEURON: tuple[Pattern, ...] = (
    row(
        "neuron_hw_error",
        Category.OTHER,
        r"(?:neuron: ?)?NEURON_HW_ERR=(?P<kind>\w+)[^\n]*? nd-id=(?P<subject>\d{1,4})"
        r"(?: nc-id=(?P<core>\d+))?(?: serial-num=(?P<serial>\w+))?(?: action=(?P<action>\w+))?",
        decide=_hardware,
    ),
    _of_device(
        "neuron_out_of_memory",
        Category.APPLICATION,
        r"neuron: ?mc_alloc\w*: device mempool \[(?P<subject>\d{1,4}):\d+\]",
    ),
    _of_device(
        "neuron_dma_timeout",
        Category.HANG,
        rf"{_PREFIX}DMA completion timeout on nd(?P<subject>\d{{1,4}}) for (?P<engine>\S+) "
        r"q(?P<queue>\d+)",
    ),
    _of_device(
        "neuron_reset_failed",
        Category.HANG,
        rf"{_PREFIX}nd(?P<subject>\d{{1,4}}): (?:reset request \d+ (?:failed|was initiated, but failed)"
        r"|failed to initialize dma after reset|failed to complete post reset)",
    ),
    _of_device(
        "neuron_repair_state_invalid",
        Category.MEMORY_CONTAINED,
        rf"{_PREFIX}\[ND (?P<subject>\d{{1,4}})\] Total Uncorrected ecc err count is (?P<count>\d+), "
        r"but repair state is (?P<state>\d+) which is invalid",
    ),
    row(
        "neuron_firmware_timeout",
        Category.FIRMWARE,
        rf"{_PREFIX}seq: (?P<sequence>\d+), cmd: (?P<command>\d+) timed out",
    ),
)
