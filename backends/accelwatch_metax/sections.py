"""What mx-smi prints by GPU: the list of `-L`, and the indented text of its `--show-` options. Pure."""

import re
from collections.abc import Mapping

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.printed import complete_lines

Fields = Mapping[str, str]
MAX_GPUS = 1024
BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_GPU = re.compile(r"GPU#(\d{1,4})\s+(\S+)(?:\s+(\S+:\S+))?(?:\s+(\S.*))?")
_UUID = re.compile(r"\(UUID:?\s*([^()\s]+)\)", re.IGNORECASE)
_STATE = re.compile(r"([^()]+?)\s*(?:\((.+)\))?")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU of `-L`."""

    model: str
    pci_bus_id: str | None
    uuid: str | None
    # `Available` or another word.
    state: str | None
    # Why it is not available, in the vendor's words.
    reason: str | None


def listed_of(output: bytes) -> dict[int, Listed]:
    """GPUs of `-L` by index."""
    gpus: dict[int, Listed] = {}
    for line in complete_lines(output):
        match = _GPU.fullmatch(line.strip())
        if match is not None and len(gpus) < MAX_GPUS:
            gpus.setdefault(int(match[1]), _listed(match))
    return gpus


def _listed(match: "re.Match[str]") -> Listed:
    remaining = match[4] or ""
    uuid = _UUID.search(remaining)
    state = _STATE.fullmatch(_UUID.sub("", remaining).strip())
    return Listed(
        model=match[2],
        pci_bus_id=bus_of(match[3] or ""),
        uuid=uuid[1] if uuid else None,
        state=state[1] if state else None,
        reason=state[2] if state else None,
    )


def bus_of(text: str) -> str | None:
    """A PCI id as it is written everywhere; None for other text."""
    return normal_pci_bus_id(text) if BUS.fullmatch(text) else None


def sections_of(output: bytes) -> dict[int, dict[str, str]]:
    """`section/key` in lower case to text, by GPU; what stands before the first GPU is not of one.

    The number of a sensor is left out: that of the hottest differs from card to card.
    """
    gpus: dict[int, dict[str, str]] = {}
    fields: dict[str, str] | None = None
    section = ""
    for line in complete_lines(output):
        text = line.strip()
        match = _GPU.fullmatch(text)
        if match is not None:
            number = int(match[1])
            fields = gpus.setdefault(number, {}) if number in gpus or len(gpus) < MAX_GPUS else None
            section = ""
        elif fields is None or not text or not line[0].isspace():
            continue
        elif " :" not in text and ":" not in text:
            section = " ".join(text.lower().split())
        else:
            key, _, value = text.partition(":")
            name = re.sub(r"\(.*\)", "", " ".join(key.lower().split())).strip()
            fields.setdefault(f"{section}/{name}", value.strip())
    return gpus
