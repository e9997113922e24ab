"""ICN, the links between PPUs: three lists of `ppu-smi icn`, each of all PPUs, one of them a round."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch.schema.reading import Collected

FABRIC = "icn"
# By PPU, then by link.
Counts = Mapping[int, Mapping[int, int]]
_QUERIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"states": ("-s",), "errors": ("-e",), "traffic": ("-gt", "r")}
)
_PPU = re.compile(r"PPU (\d{1,4}):.*", re.ASCII)
_LINK = re.compile(r"\s+Link (\d{1,3}): (\S.*?)\s*", re.ASCII)
_SPEED = re.compile(r"\d{1,6}(?:\.\d{1,3})? GB/s", re.ASCII)
_COUNT = re.compile(r"(\d{1,20}) (\D+)", re.ASCII)
_MOVED = re.compile(r"Raw (Tx|Rx): (\d{1,18}) KiB", re.ASCII)
_ERRORS = MappingProxyType(
    {
        "FEC correctable errors": "fec_corrected",
        "FEC uncorrectable errors": "fec_uncorrected",
        "TX packet errors": "transmit",
        "RX packet errors": "receive",
        "link down times": "down",
    }
)
_DIRECTIONS = MappingProxyType({"Tx": "transmit", "Rx": "receive"})


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the links of all PPUs: by what it is, else why not."""

    # 1 for a link that is up, 0 for one that is not connected.
    states: Counts | Absence = Absence.NOT_COLLECTED
    # By kind.
    errors: Mapping[str, Counts] | Absence = Absence.NOT_COLLECTED
    # Bytes by direction.
    traffic: Mapping[str, Counts] | Absence = Absence.NOT_COLLECTED


# Before any query.
NO_LINKS = Links()


class Icn:
    """Remembers what each list said; used by one thread. A list that is refused is not queried again."""

    def __init__(self, run: Callable[..., bytes]) -> None:
        """`run` is given arguments of ppu-smi and may raise ReadError."""
        self._run = run
        self._links = Links()
        self._due = list(_QUERIES)

    def refresh(self) -> Links:
        """With the list whose turn it is queried anew. After a run that hangs its list is not known."""
        if self._due:
            kind = self._due.pop(0)
            counts = self._query(kind)
            self._links = msgspec.structs.replace(self._links, **{kind: counts})
            if counts is not Absence.UNSUPPORTED:
                self._due.append(kind)
        return self._links

    def _query(self, kind: str) -> Counts | Mapping[str, Counts] | Absence:
        try:
            output = self._run("icn", *_QUERIES[kind])
        except DeviceTimeout:
            return Absence.TIMEOUT
        except DevicePermission:
            return Absence.PERMISSION
        except ReadError:
            return Absence.UNSUPPORTED
        return parse_states(output) if kind == "states" else parse_counts(output)


def _lines(output: bytes) -> list[tuple[int, int, str]]:
    """PPU, link and the text after it."""
    rows: list[tuple[int, int, str]] = []
    ppu: int | None = None
    # Of a line that was cut nobody knows how it went on.
    for line in output.decode("utf-8", "replace").split("\n")[:-1]:
        if (head := _PPU.fullmatch(line)) is not None:
            ppu = int(head[1])
        elif ppu is not None and (match := _LINK.fullmatch(line)) is not None:
            rows.append((ppu, int(match[1]), match[2]))
    return rows


def parse_states(output: bytes) -> Counts:
    """`Link 0: 50 GB/s` is up, `Link 1: <inactive>` is not; another word says neither."""
    states: dict[int, dict[int, int]] = {}
    for ppu, link, text in _lines(output):
        if text == "<inactive>":
            states.setdefault(ppu, {})[link] = 0
        elif _SPEED.fullmatch(text):
            states.setdefault(ppu, {})[link] = 1
    return states


def parse_counts(output: bytes) -> Mapping[str, Counts]:
    """Errors by kind as `-e` counts them, bytes by direction as `-gt r` does."""
    counts: dict[str, dict[int, dict[int, int]]] = {}
    for ppu, link, text in _lines(output):
        moved, counted = _MOVED.fullmatch(text), _COUNT.fullmatch(text)
        if moved is not None:
            name, count = _DIRECTIONS[moved[1]], int(moved[2]) * 1024
        elif counted is not None and counted[2] in _ERRORS:
            name, count = _ERRORS[counted[2]], int(counted[1])
        else:
            continue
        counts.setdefault(name, {}).setdefault(ppu, {})[link] = count
    return counts


def record_links(out: Collected, number: int, links: Links) -> None:
    """State, traffic and errors of the links of a PPU, together and one by one."""
    states = links.states
    if isinstance(states, Absence):
        out.miss("interconnect_links", states)
    elif mine := states.get(number):
        up = sum(mine.values())
        out.put("interconnect_links", up, FABRIC, "up")
        out.put("interconnect_links", len(mine) - up, FABRIC, "down")
        for link, state in mine.items():
            out.put("link_up", state, FABRIC, str(link))
    else:
        out.miss("interconnect_links", Absence.UNSUPPORTED)
    for end, by_label in (("errors_total", links.errors), ("bytes_total", links.traffic)):
        if isinstance(by_label, Absence):
            out.miss(f"interconnect_{end}", by_label)
            continue
        for label, by_ppu in by_label.items():
            counts = by_ppu.get(number, {})
            if counts:
                out.put(f"interconnect_{end}", sum(counts.values()), FABRIC, label)
            for link, count in counts.items():
                out.put(f"link_{end}", count, FABRIC, str(link), label)
