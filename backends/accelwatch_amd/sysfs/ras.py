"""RAS files: error counts by hardware block, retired pages, and whether protection is on.

Source: Linux drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c. `ras/<block>_err_count` holds `ue: N`, `ce: N`
and on newer drivers `de: N` (deferred); `ras/gpu_vram_bad_pages` holds `page : size : flag`.
"""

import re
from collections.abc import Mapping

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel.amdgpu_ras import believable, event_code
from accelwatch_amd.sysfs.tree import Tree

_COUNT = re.compile(r"^[ \t]*(ue|ce|de)[ \t]*:[ \t]*(\d{1,20})[ \t\r]*$", re.MULTILINE)
_PAGE = re.compile(r"^0x[0-9a-fA-F]+ *: *0x[0-9a-fA-F]+ *: *([RPF])[ \r]*$", re.MULTILINE)
_MASK = re.compile(r"feature mask:\s*(0x[0-9a-fA-F]+)")
_SEVERITIES = {"ue": "uncorrected", "ce": "corrected", "de": "deferred"}
_SUFFIX = "_err_count"
# AMDGPU_RAS_BLOCK__UMC, the memory controllers, is the first block of the feature mask.
_UMC_BIT = 1


class BlockErrors(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of one hardware block since the driver was loaded, by severity."""

    # Only those that the file names.
    counts: dict[str, int]


def parse_counts(text: str) -> BlockErrors | None:
    """Content of one `<block>_err_count`; None where it has no count, or one that cannot be true."""
    counts = {_SEVERITIES[name]: int(number) for name, number in _COUNT.findall(text)}
    if not counts or not all_believable(counts):
        return None
    return BlockErrors(counts=counts)


def all_believable(counts: Mapping[str, int]) -> bool:
    """Whether each count by severity can be true."""
    return all(
        believable(count, corrected=severity == "corrected") for severity, count in counts.items()
    )


def parse_bad_pages(text: str) -> dict[str, int] | None:
    """Number of pages by flag: R retired, P to be retired at the next reset, F cannot be retired.

    An empty text is a device without bad pages; None where a line cannot be read, for then the
    numbers would be too small.
    """
    flags = _PAGE.findall(text)
    if len(flags) != len([line for line in text.splitlines() if line.strip("\0 \t")]):
        return None
    return {flag: flags.count(flag) for flag in "RPF"}


def read_blocks(device: Tree) -> dict[str, BlockErrors | Absence]:
    """Counts by block name (`umc`, `gfx`, `xgmi_wafl`, ...); empty for a device without RAS."""
    ras = device.below("ras")
    blocks: dict[str, BlockErrors | Absence] = {}
    for name in ras.names(f"*{_SUFFIX}"):
        text = ras.text(name)
        counts = text if isinstance(text, Absence) else parse_counts(text) or Absence.ERROR
        blocks[name.removesuffix(_SUFFIX)] = counts
    return blocks


def record_blocks(blocks: Mapping[str, BlockErrors | Absence], out: Collected) -> None:
    """Record the sums and each block; a sum that lacks a block is absent, not too small."""
    reasons = [errors for errors in blocks.values() if isinstance(errors, Absence)]
    sums: dict[str, int] = {}
    for block, errors in blocks.items():
        if isinstance(errors, Absence):
            out.miss("ecc_location_errors_total", errors, "uncorrected", block)
            continue
        for severity, count in errors.counts.items():
            sums[severity] = sums.get(severity, 0) + count
            out.put("ecc_location_errors_total", count, severity, block)
            if block == "xgmi_wafl":
                out.put("interconnect_errors_total", count, "xgmi", severity)
    for severity, total in {} if reasons else sums.items():
        out.put("ecc_errors_total", total, severity)
    if reasons:
        out.miss("ecc_errors_total", reasons[0])


def read_pages(device: Tree, out: Collected) -> None:
    """Record retired pages, those that wait for a reset, and whether one could not be retired."""
    text = device.text("ras/gpu_vram_bad_pages")
    pages = text if isinstance(text, Absence) else parse_bad_pages(text) or Absence.ERROR
    if isinstance(pages, Absence):
        if pages is not Absence.UNSUPPORTED:
            for key in ("memory_retired_pages", "memory_repair_pending", "memory_repair_failed"):
                out.miss(key, pages)
        return
    out.put("memory_retired_pages", pages["R"], "uncorrected")
    out.put("memory_repair_pending", int(pages["P"] > 0))
    out.put("memory_repair_failed", int(pages["F"] > 0))


def read_protection(device: Tree, out: Collected) -> None:
    """Record whether the memory controllers' RAS feature is on."""
    text = device.text("ras/features")
    if isinstance(text, Absence):
        if text is not Absence.UNSUPPORTED:
            out.miss("ecc_enabled", text)
        return
    match = _MASK.search(text)
    if match is None or len(match[1]) > 18:
        out.miss("ecc_enabled", Absence.ERROR)
    else:
        out.put("ecc_enabled", int(match[1], 16) & _UMC_BIT)


def growth_events(
    device_id: str,
    before: Mapping[str, BlockErrors | Absence],
    after: Mapping[str, BlockErrors | Absence],
    now: float,
) -> list[ErrorEvent]:
    """An event for each block whose uncorrectable or deferred count grew; `now` is Unix seconds.

    A deferred error was contained before anything used the data.
    """
    events = []
    for block, errors in after.items():
        previous = before.get(block)
        if isinstance(errors, Absence) or previous is None or isinstance(previous, Absence):
            continue
        for severity in ("uncorrected", "deferred"):
            new = errors.counts.get(severity, 0) - previous.counts.get(severity, 0)
            if new > 0:
                events.append(_event(device_id, block, severity, new, now))
    return events


def _event(device_id: str, block: str, severity: str, new: int, now: float) -> ErrorEvent:
    contained = severity == "deferred"
    return ErrorEvent(
        code=event_code(block),
        category=Category.MEMORY_CONTAINED if contained else Category.MEMORY_FATAL,
        time=now,
        text=f"{new} new {severity} hardware error{'s' if new > 1 else ''} in block {block}",
        source="sysfs",
        device_id=device_id,
        detail={"block": block, "severity": severity, "count": str(new)},
    )
