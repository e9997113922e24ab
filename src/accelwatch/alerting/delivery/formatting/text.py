"""A notice in plain words, cut to fit a limit of the receiver: these count bytes, not letters."""

from collections.abc import Iterator
from datetime import UTC, datetime

from accelwatch.alerting.sink import Notice, NoticeKind

_HEADS = {
    NoticeKind.OPENED: "",
    NoticeKind.UPDATED: "update: ",
    NoticeKind.CLOSED: "over: ",
    NoticeKind.REMINDER: "still open: ",
    NoticeKind.APPROVAL: "needs your yes or no: ",
    NoticeKind.CALLED: "needs a person: ",
    NoticeKind.TEST: "test: ",
}
_MOST_NAMES = 5
_ELLIPSIS = "…"


def headline(notice: Notice) -> str:
    """`CRITICAL GPU has fallen off the bus: n12 nvidia3 (...)`."""
    level = notice.severity.value.upper()
    return f"{level} {_HEADS[notice.kind]}{notice.title}: {notice.where}"


def body(notice: Notice) -> str:
    """All that is known, a line each, the most useful first; without the headline."""
    lines = [f"since {time_text(notice.since)}, {_lasting(notice)}"]
    if notice.returns:
        lines.append(f"came back {_times(notice.returns)} since {time_text(notice.since)}")
    lines += _requested(notice)
    lines += _planned(notice)
    lines += [f"- {line}" for line in notice.evidence]
    if not notice.trusted:
        lines.append(
            "untrusted: any user of that node who may write to the kernel log can forge this"
        )
    if notice.jobs:
        of = f" of {_names(notice.users)}" if notice.users else ""
        lines.append(f"job {_names(notice.jobs)}{of}")
    lines += [f"done: {line}" for line in notice.done]
    if notice.not_done and notice.closed is None:
        lines.append(f"nothing is done about it: {notice.not_done}")
    if notice.what_to_do and notice.closed is None:
        lines.append(f"what to do: {notice.what_to_do}")
    if notice.runbook:
        lines.append(f"runbook: {notice.runbook}")
    lines.append(
        f"rule {notice.rule} ({notice.source})" if notice.source else f"rule {notice.rule}"
    )
    lines.append(f"incident {notice.key}" + (f": {notice.link}" if notice.link else ""))
    return "\n".join(lines)


def _requested(notice: Notice) -> Iterator[str]:
    """What waits for a yes, and how somebody decides."""
    for request in notice.asks:
        until = "" if request.until is None else f", until {time_text(request.until)}"
        yield f"waits for a yes: {'; '.join(request.steps)}{until}"
        if request.as_of is not None:
            yield f"as of {time_text(request.as_of)}; when a job comes or goes the plan needs a new yes"
        how = (
            f"accelwatch remedy approve {request.node} --plan {request.plan} --reason WHY (or deny)"
        )
        yield f"decide: {request.link or how}"


def _planned(notice: Notice) -> Iterator[str]:
    """What will be done by itself, when, and how somebody keeps it from being done."""
    for plan in notice.plans:
        if plan.held_back:
            when = f"held back ({plan.held_back})"
            when += "" if plan.at is None else f" until {time_text(plan.at)}"
        else:
            when = "now" if plan.at is None else f"at {time_text(plan.at)}"
        saves = plan.saved_gpu_hours
        worth = "" if saves is None else f"; saves about {saves:.3g} GPU-hours"
        yield f"will be done {when}: {'; '.join(plan.steps)}{worth}"
        yield f"to stop it: accelwatch remedy hold {plan.node} --reason WHY"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def time_text(time: float) -> str:
    """A time that nobody on another continent misreads: `2026-11-22 03:14:07 UTC`."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def lasting(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    rounded = max(0, round(seconds))
    if rounded < 120:
        return f"{rounded} s"
    minutes = rounded // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def fitted(text: str, most_bytes: int) -> str:
    """The text within so many bytes of UTF-8, cut between letters and marked where it was cut."""
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text
    room = most_bytes - len(_ELLIPSIS.encode())
    if room < 0:
        return ""
    return encoded[:room].decode(errors="ignore") + _ELLIPSIS


def _lasting(notice: Notice) -> str:
    if notice.closed is not None:
        return f"over after {lasting(notice.closed - notice.since)}"
    return f"for {lasting(notice.time - notice.since)}"


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
