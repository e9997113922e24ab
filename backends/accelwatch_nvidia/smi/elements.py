"""Texts and values at paths of nvidia-smi's XML, and whether it says that a GPU is lost. Pure."""

import re
import xml.etree.ElementTree as ET  # only Element; parsing is in smi.document

from accelwatch.base.absence import Absence
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_nvidia import returns
from accelwatch_nvidia.mapping import Outcome
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.text_row import TextRow

_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
_NO_NAMES = ("unknown", "none", "not found")
# Tags that a GPU in need of a reset does not answer, whatever else it still does.
_TELLING = ("gpu_util", "gpu_temp", "used")


def text_at(element: ET.Element, path: str) -> str | None:
    """Stripped text at a path; None where there is no such leaf.

    A whole group may be refused in one word (`remapped_rows` is `N/A` or `Insufficient Permissions`).
    """
    at = element
    for tag in path.split("/"):
        child = at.find(tag)
        if child is None:
            text = (at.text or "").strip() if at is not element and len(at) == 0 else ""
            return text if text and smi_text.absence(text) else None
        at = child
    return None if len(at) else (at.text or "").strip()


def meaningful_text(gpu: ET.Element, path: str) -> str | None:
    """Stripped text at a path; None where there is none, or a word for nothing."""
    text = text_at(gpu, path)
    if text is None or smi_text.absence(text) is not None or text.lower() in _NO_NAMES:
        return None
    return text


def first_value(element: ET.Element, row: TextRow) -> Outcome | None:
    """Value of a row, else its most specific absence; None where the document has no such tag."""
    outcome: Outcome | None = None
    for path in row.paths:
        text = text_at(element, path)
        if text is None:
            continue
        value = row.convert(text)
        if not isinstance(value, Absence):
            return value
        if outcome is None or outcome is Absence.UNSUPPORTED:
            outcome = value
    return outcome


def check_usable(gpu: ET.Element, name: str) -> None:
    """Raise DeviceLost when nvidia-smi says anywhere that the GPU is lost or needs a reset."""
    for element in gpu.iter():
        text = (element.text or "").strip().strip("[]").lower()
        if text == "gpu is lost":
            raise returns.failure(returns.GPU_IS_LOST, name, "nvidia-smi")
        if text == "gpu requires reset" and element.tag in _TELLING:
            raise returns.failure(returns.RESET_REQUIRED, name, "nvidia-smi")


def bus_of(gpu: ET.Element) -> str | None:
    """PCI id of a `gpu` element; None for a GPU that is on no PCI bus and prints `N/A`."""
    bus = normal_pci_bus_id(gpu.get("id") or text_at(gpu, "pci/pci_bus_id") or "")
    return bus if _BUS.fullmatch(bus) else None
