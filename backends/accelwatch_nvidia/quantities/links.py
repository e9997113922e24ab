"""NVLink and chip-to-chip links of one GPU: state, traffic and errors, in total and one by one."""

from collections.abc import Mapping

from accelwatch.base.absence import Absence
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.reading import Collected, Link, Number
from accelwatch_nvidia.mapping import record_first
from accelwatch_nvidia.nvml.nvml import DeviceCalls
from accelwatch_nvidia.quantities import fields

# NVML_NVLINK_MAX_LINKS of the newest header; older GPUs refuse the higher numbers.
MAX_LINKS = 36
_DIRECTIONS = ("transmit", "receive")


def read_links(
    calls: DeviceCalls, collected: Collected, groups: frozenset[str]
) -> tuple[Link, ...]:
    """Read all links of the GPU into `collected`; the links themselves when group `links` is on."""
    states = _nvlink_states(calls)
    if isinstance(states, Absence):
        for key in ("interconnect_links", "interconnect_errors_total"):
            record_first(collected, (key,), states)
    elif states:
        record_count(collected, states)
        _counters(calls, collected, list(states), in_detail="links" in groups)
    _chip_to_chip(calls, collected)
    if "links" not in groups or isinstance(states, Absence):
        return ()
    return record_each(collected, states, {number: _remote(calls, number) for number in states})


def record_count(collected: Collected, states: Mapping[int, bool]) -> None:
    """Record how many links are up, and how many are down."""
    up = sum(states.values())
    collected.put("interconnect_links", up, "nvlink", "up")
    collected.put("interconnect_links", len(states) - up, "nvlink", "down")


def record_each(
    collected: Collected, states: Mapping[int, bool], remotes: Mapping[int, str | None]
) -> tuple[Link, ...]:
    """Record the state of each link; the links with their peers."""
    for number, active in states.items():
        collected.put("link_up", int(active), "nvlink", str(number))
    return tuple(
        Link(fabric="nvlink", link=str(number), remote=remotes.get(number), up=active)
        for number, active in states.items()
    )


def record_errors(
    collected: Collected,
    kind: str,
    by_link: Mapping[int, Number | Absence],
    *,
    in_detail: bool,
) -> None:
    """Record an error counter of each link: their sum, and themselves in detail."""
    _record_sum(collected, ("interconnect_errors_total", "nvlink", kind), list(by_link.values()))
    for link, count in by_link.items():
        if in_detail and not isinstance(count, Absence):
            collected.put("link_errors_total", count, "nvlink", str(link), kind)


def _nvlink_states(calls: DeviceCalls) -> dict[int, bool] | Absence:
    """Whether each link is active, by link number; an absence when none could be queried."""
    states: dict[int, bool] = {}
    for number in range(MAX_LINKS):
        answer = calls.query("nvmlDeviceGetNvLinkState", number)
        if isinstance(answer, Absence):
            if number == 0:
                return answer
            if answer is Absence.UNSUPPORTED:
                break
            continue
        states[number] = bool(answer)
    return states


def _counters(
    calls: DeviceCalls, collected: Collected, links: list[int], *, in_detail: bool
) -> None:
    """Error and byte counters: totals of older GPUs, and sums over links of newer ones."""
    errors = [(field, link) for field, _ in fields.LINK_ERRORS for link in links]
    byte_fields = [field for choice in fields.LINK_BYTES for field, _ in choice]
    traffic = [(field, link) for field in byte_fields for link in links]
    totals = [(field, 0) for field, _ in fields.LINK_ERROR_TOTALS]
    answers = calls.fields([*errors, *traffic, *totals])
    for field, kind in fields.LINK_ERRORS:
        by_link = {link: answers[field, link] for link in links}
        record_errors(collected, kind, by_link, in_detail=in_detail)
    for field, kind in fields.LINK_ERROR_TOTALS:
        record_first(collected, ("interconnect_errors_total", "nvlink", kind), answers[field, 0])
    for direction, choice in zip(_DIRECTIONS, fields.LINK_BYTES, strict=True):
        moved = {link: _bytes(answers, choice, link) for link in links}
        _record_sum(
            collected, ("interconnect_bytes_total", "nvlink", direction), list(moved.values())
        )
        for link, count in moved.items():
            if in_detail and not isinstance(count, Absence):
                collected.put("link_bytes_total", count, "nvlink", str(link), direction)


def _bytes(
    answers: dict[tuple[int, int], Number | Absence], choice: tuple[tuple[int, int], ...], link: int
) -> Number | Absence:
    for field, factor in choice:
        count = answers[field, link]
        if not isinstance(count, Absence):
            return count * factor
    return Absence.UNSUPPORTED


def _record_sum(
    collected: Collected, series: tuple[str, ...], counts: list[Number | Absence]
) -> None:
    """Record the sum over links, or why there is none: a sum with a part missing would be wrong."""
    numbers = [count for count in counts if not isinstance(count, Absence)]
    if len(numbers) == len(counts):
        record_first(collected, series, sum(numbers))
        return
    reasons = [count for count in counts if isinstance(count, Absence)]
    faults = [why for why in reasons if why is not Absence.UNSUPPORTED]
    record_first(collected, series, (faults or reasons)[0])


def _chip_to_chip(calls: DeviceCalls, collected: Collected) -> None:
    """Links between the GPU and its CPU (Grace): fields 170 and 171, where 1 is active (nvml.h)."""
    pair = (fields.C2C_LINK_COUNT, 0)
    count = calls.fields([pair])[pair]
    if isinstance(count, Absence) or not 0 < count <= MAX_LINKS:
        return
    states = calls.fields([(fields.C2C_LINK_STATUS, link) for link in range(int(count))])
    available = [state for state in states.values() if not isinstance(state, Absence)]
    if available:
        up = sum(1 for state in available if state)
        collected.put("interconnect_links", up, "c2c", "up")
        collected.put("interconnect_links", len(available) - up, "c2c", "down")


def _remote(calls: DeviceCalls, number: int) -> str | None:
    answer = calls.query("nvmlDeviceGetNvLinkRemotePciInfo", number)
    if isinstance(answer, Absence):
        return None
    bus = answer.busId
    return normal_pci_bus_id(bus.decode() if isinstance(bus, bytes) else bus)
