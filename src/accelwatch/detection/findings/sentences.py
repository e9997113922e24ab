"""What a finding says to a person, in a sentence."""

from collections.abc import Sequence
from datetime import UTC, datetime

from accelwatch.detection.findings.explaining import Explained
from accelwatch.detection.findings.phrases import CAUSES, SHARED, meaning_of, phrase_of
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.display import counted, quantity

# Above this many times the other, a share says less than both numbers do.
_FOLD = 3.0
# How many more signals a sentence names after the first.
_MORE = 2
# What evidence that rests on no number says: by channel, with the code of the event or rule.
_WITHOUT_NUMBER = {
    "log": "has logged {cause}",
    "hard": "has a hardware fault ({cause})",
    "structural": "no longer reports what it should ({cause})",
    "counter": "counts errors far more often than it should ({cause})",
    "hang": "has stopped working ({cause})",
    "host": "shows signs of a stall ({cause})",
}


def sentence(who: str, job: str, onset: float, explained: Sequence[Explained]) -> str:
    """Of a node or device: what is wrong, against whom, since when, and what that may mean."""
    if not explained:
        return f"{who} has not recovered yet, since {clock(onset)}."
    first, *others = explained
    text = f"{who} {_head(first)}{_against(first, job)}, since {clock(onset)}"
    tails = [tail for each in others if (tail := _tail(each))][:_MORE]
    if tails:
        text += "; " + " and ".join(tails)
    meaning = meaning_of({f"{each.family}{_sign(each)}" for each in explained})
    return f"{text}: {meaning}." if meaning else f"{text}."


def group_sentence(count: int, job: str, shared: str, onset: float) -> str:
    """Of several nodes by one cause."""
    of_job = f" of job {job}" if job else ""
    return f"{counted(count, 'node')}{of_job} {SHARED[shared]}, since {clock(onset)}."


def hang_sentence(job: str, culprit: str, devices: int, onset: float) -> str:
    """The sentence of a job that hangs, and who stopped first."""
    state = f"its {counted(devices, 'device')} look busy and do no work"
    text = f"Job {job} has hung since {clock(onset)}: {state}"
    return f"{text}; {culprit} stopped first." if culprit else f"{text}."


def clock(seconds: float) -> str:
    """Unix seconds as `03:12 UTC`."""
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M} UTC"


def _head(each: Explained) -> str:
    signal = each.signal
    if not each.series:
        if signal.name in CAUSES:
            return CAUSES[signal.name]
        text = _WITHOUT_NUMBER.get(signal.channel, "is not well ({cause})")
        return text.format(cause=signal.name.replace("xid_", "XID ").replace("_", " "))
    phrase, by = phrase_of(each.series), _difference(each)
    written = phrase.above if _sign(each) == "+" else phrase.below
    if written and "{by}" not in written:
        return written
    if written and by:
        return written.format(by=by)
    return f"has its {phrase.noun} {_compared(each)}"


def _tail(each: Explained) -> str:
    """The same of a further signal; empty where there is nothing to compare."""
    if not each.series or each.signal.value is None or _sign(each) == "":
        return ""
    return f"its {phrase_of(each.series).noun} is {_compared(each)}"


def _compared(each: Explained) -> str:
    phrase, by = phrase_of(each.series), _difference(each)
    if by:
        return f"{by} {phrase.more if _sign(each) == '+' else phrase.less}"
    value, other = each.signal.value, _other(each)
    if value is None:
        return "out of its range"
    shown = _shown(each, value)
    return f"at {shown}" if other is None else f"at {shown} instead of {_shown(each, other)}"


def _against(each: Explained, job: str) -> str:
    """With whom or what it is compared."""
    if not each.series or each.signal.value is None:
        return ""
    if each.signal.expected is not None and each.peers:
        of_job = f" of job {job}" if job else ""
        than = " than" if _difference(each) else ", unlike"
        return f"{than} its {counted(each.peers, 'peer')}{of_job}"
    if each.signal.usual is not None and _difference(each):
        return " than usual"
    return ""


def _other(each: Explained) -> float | None:
    return each.signal.usual if each.signal.expected is None else each.signal.expected


def _sign(each: Explained) -> str:
    value, other = each.signal.value, _other(each)
    if value is None or other is None or value == other:
        # Error counters have no peers: that they are named says that they are high.
        return "+" if each.signal.channel == "counter" else ""
    return "+" if value > other else "-"


def _difference(each: Explained) -> str:
    """`9 %`, or `6 °C` of a temperature; empty where two numbers say more."""
    value, other = each.signal.value, _other(each)
    if value is None or other is None or value == other:
        return ""
    row = by_key().get(each.series[0])
    unit = "" if row is None else row.unit
    if unit == "celsius":
        return quantity(each.series[0], abs(value - other))
    if other == 0 or not 1 / _FOLD <= value / other <= _FOLD:
        return ""
    share = abs(value - other) / abs(other) * 100
    return f"{share:.0f} %" if share >= 1.5 else f"{share:.1f} %"


def _shown(each: Explained, value: float) -> str:
    """A value as people read it; a counter is a rate here."""
    name = each.series[0]
    per_second = "/s" if name.endswith("_total") else ""
    return quantity(name, float(f"{value:.3g}") if per_second else value) + per_second
