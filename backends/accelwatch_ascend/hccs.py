"""HCCS links of a chip, from the lists that `npu-smi info -t hccs` prints: an entry a link. Pure."""

from types import MappingProxyType

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_ascend.document import Pairs, PairsOrAbsence, meaningful_text

FABRIC = "hccs"
_FABRIC_STATES = MappingProxyType({"ok": "healthy", "nok": "unhealthy"})
# End of the two series of a counter, its label, and the key.
_COUNTERS = (
    ("bytes_total", "transmit", "tx bytes"),
    ("bytes_total", "receive", "rx bytes"),
    ("errors_total", "crc", "error count"),
    ("errors_total", "retry", "retry count"),
)
_MAX_LINKS = 64


def collect_links(out: Collected, pairs: PairsOrAbsence) -> tuple[str, ...]:
    """State, traffic and errors of the links together and one by one; notes for people."""
    if isinstance(pairs, Absence):
        for key in ("links", "bytes_total", "errors_total"):
            out.miss(f"interconnect_{key}", pairs)
        out.miss("fabric_state_info", pairs)
        return ()
    _collect_states(out, _entries(pairs, "lane mode"))
    for end, label, key in _COUNTERS:
        counts = _entries(pairs, key)
        if isinstance(counts, Absence):
            out.miss(f"interconnect_{end}", counts, FABRIC, label)
            continue
        out.put(f"interconnect_{end}", sum(counts), FABRIC, label)
        for link, count in enumerate(counts):
            out.put(f"link_{end}", count, FABRIC, str(link), label)
    return _collect_health(out, pairs)


def _collect_states(out: Collected, lanes: list[int] | Absence) -> None:
    """A link without lanes is not in use: a card alone in its machine has only such."""
    if isinstance(lanes, Absence):
        out.miss("interconnect_links", lanes, FABRIC, "up")
        return
    up = sum(count > 0 for count in lanes)
    out.put("interconnect_links", up, FABRIC, "up")
    out.put("interconnect_links", len(lanes) - up, FABRIC, "down")
    for link, count in enumerate(lanes):
        out.put("link_up", int(count > 0), FABRIC, str(link))


def _collect_health(out: Collected, pairs: Pairs) -> tuple[str, ...]:
    status = meaningful_text(pairs.get("hccs health status"))
    if status is None:
        out.miss("fabric_state_info", Absence.UNSUPPORTED)
        return ()
    state = _FABRIC_STATES.get(status.lower())
    if state is None:
        out.miss("fabric_state_info", Absence.ERROR)
    else:
        out.put("fabric_state_info", 1, state)
    if state == "healthy":
        return ()
    lane = meaningful_text(pairs.get("hccs first error lane"))
    where = "" if lane is None else f", first in lane {lane[:8]}"
    return (f"npu-smi calls the HCCS links {status[:32]}{where}",)


def _entries(pairs: Pairs, name: str) -> list[int] | Absence:
    """`[224 224 0]` as numbers; unsupported where the key is not there, error for anything else."""
    text = pairs.get(f"hccs {name}")
    if text is None:
        return Absence.UNSUPPORTED
    if not (text.startswith("[") and text.endswith("]")):
        return Absence.ERROR if meaningful_text(text) else Absence.UNSUPPORTED
    tokens = text[1:-1].split()
    if not tokens or len(tokens) > _MAX_LINKS:
        return Absence.ERROR
    if not all(token.isascii() and token.isdecimal() and len(token) <= 20 for token in tokens):
        return Absence.ERROR
    return [int(token) for token in tokens]
