"""The document of `nvidia-smi -q -x`."""

import re
import xml.etree.ElementTree as ET  # only Element; the parsing is in smi_xml

from accelwatch.backend.kit.smi.xml import MAX_DEPTH, SmiDocument, parse_log
from accelwatch.schema.device import normal_pci_bus_id

__all__ = ["INFOROM", "MAX_DEPTH", "SmiDocument", "parse"]

# Tag of ours below `gpu`: what nvidia-smi says of it stands beside the document.
INFOROM = "inforom_corrupted"
_CORRUPTED = re.compile(rb"infoROM is corrupted at gpu ([0-9A-Fa-f:.]{7,16})", re.IGNORECASE)
_IMAGE = "inforom_version/img_version"


def parse(content: bytes, status: int | None = None) -> SmiDocument:
    """The document as far as it could be read; never raises. `status` is how the command ended."""
    document = parse_log(content, "nvidia_smi_log")
    matches = _CORRUPTED.findall(content)
    corrupted = {normal_pci_bus_id(bus.decode("ascii")) for bus in matches}
    for gpu in document.gpus:
        has_inforom = (gpu.findtext(_IMAGE) or "N/A").strip() != "N/A"
        if normal_pci_bus_id(gpu.get("id") or "") in corrupted:
            ET.SubElement(gpu, INFOROM).text = "Yes"
        elif status == 0 and document.complete and has_inforom:
            # It ends with 14 and warns where one is corrupted.
            ET.SubElement(gpu, INFOROM).text = "No"
    return document
