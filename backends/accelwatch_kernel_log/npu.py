"""Messages of drivers of accelerators that are no GPUs: Intel Gaudi (habanalabs), AWS Neuron."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.pattern import BDF, Pattern, Verdict, row

_CARD = rf"habanalabs (?:{BDF}|(?P<subject>(?:hl|accel)\d+)): "
"""The PCI function, or the driver's own name: `hl0`, `accel0` since it is of the class accel."""

_NEURON = {
    "SRAM_UNCORRECTABLE_ERROR": Category.MEMORY_FATAL,
    "NC_UNCORRECTABLE_ERROR": Category.MEMORY_FATAL,
    "HBM_UNCORRECTABLE_ERROR": Category.MEMORY_FATAL,
    "DMA_ERROR": Category.BUS,
}
"""The values of NEURON_HW_ERR in the Neuron runtime's troubleshooting guide."""


def _name(groups: dict[str, str]) -> None:
    groups["subject"] = f"neuron{groups['subject']}"


def _out_of_memory(groups: dict[str, str]) -> Verdict:
    _name(groups)
    return "neuron_out_of_memory", Category.APPLICATION


def _neuron(groups: dict[str, str]) -> Verdict:
    _name(groups)
    kind = groups["kind"]
    if kind not in _NEURON:
        return "neuron_hw_error", Category.OTHER
    return f"neuron_{kind.lower()}", _NEURON[kind]


NPU: tuple[Pattern, ...] = (
    row(
        "habanalabs_init_failed",
        Category.FIRMWARE,
        rf"habanalabs {BDF}: Failed to initialize (?P<name>(?:hl|accel)\d+)\. Device is NOT usable",
    ),
    row(
        "habanalabs_cpucp_timeout",
        Category.FIRMWARE,
        rf"{_CARD}Failed to communicate with Device CPU",
    ),
    row(
        "habanalabs_heartbeat",
        Category.HANG,
        rf"{_CARD}[Dd]evice heartbeat failed",
    ),
    row(
        "neuron_hw_error",
        Category.OTHER,
        r"(?:neuron: ?)?NEURON_HW_ERR=(?P<kind>\w+)[^\n]*? nd-id=(?P<subject>\d+)"
        r"(?: nc-id=(?P<core>\d+))?(?: serial-num=(?P<serial>\w+))?(?: action=(?P<action>\w+))?",
        decide=_neuron,
    ),
    row(
        "neuron_out_of_memory",
        Category.APPLICATION,
        r"neuron: ?mc_alloc: device mempool \[(?P<subject>\d+):\d+\]",
        decide=_out_of_memory,
    ),
)
