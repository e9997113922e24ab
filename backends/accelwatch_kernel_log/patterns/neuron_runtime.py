"""What the runtime of AWS Neuron says of faults, where its log goes into the kernel's.

It logs to the standard output of a job, or to syslog (NEURON_RT_LOG_LOCATION), whose lines a machine may
forward. Such records are of user space: without `accept_user_kmsg` they are shown and drive nothing.
Wordings: the runtime's troubleshooting guide.
"""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import Pattern, Verdict, row

# Time, program and source, as far as they are printed.
_LEAD = r"(?:[^\n(\[]{0,160}(?:\[\d{1,8}\]: )?)?(?:\(FATAL-RT-UNDEFINED-STATE\) )?"
_HBM = r"Uncorrectable HBM memory error is detected\. "


def _on_device(code: str, category: Category, regex: str) -> Pattern:
    """Its group `subject` is the number of a device."""

    def decide(groups: dict[str, str]) -> Verdict:
        groups["subject"] = f"neuron{int(groups['subject'])}"
        return code, category

    return row(code, category, _LEAD + regex, decide=decide)


NEURON_RUNTIME: tuple[Pattern, ...] = (
    _on_device(
        "neuron_sram_uncorrectable_error",
        Category.MEMORY_FATAL,
        r"\[ND (?P<subject>\d{1,4})\]\[NC (?P<core>\d{1,4})\] Uncorrectable memory error is detected"
        r"(?:, metadata: (?P<metadata>0x[0-9a-fA-F]{1,16}))?",
    ),
    row(
        "neuron_hbm_repairable_error",
        Category.MEMORY_CONTAINED,
        _LEAD + _HBM + r"[^\n]{0,80}Please reload the neuron driver or reboot",
    ),
    row(
        "neuron_hbm_uncorrectable_error",
        Category.MEMORY_FATAL,
        _LEAD + _HBM,
    ),
    _on_device(
        "neuron_dma_error",
        Category.BUS,
        r"\[MLA (?P<subject>\d{1,4})\]\[NC (?P<core>\d{1,4})\] "
        r"DMA (?P<engine>[TR]X engine \d{1,4}) is in an abort state",
    ),
    _on_device(
        "neuron_collectives_hang",
        Category.HANG,
        r"missing collectives status on Neuron Device (?P<subject>\d{1,4}) NC (?P<core>\d{1,4}), "
        r"model (?P<model>[^\n]{1,80}?) - suspected hang",
    ),
    _on_device(
        "neuron_execution_timeout",
        Category.HANG,
        r"execution timeout \((?P<milliseconds>\d{1,9}) ms\) on Neuron Device "
        r"(?P<subject>\d{1,4}) NC (?P<core>\d{1,4}), model (?P<model>[^\n,]{1,80})",
    ),
)
