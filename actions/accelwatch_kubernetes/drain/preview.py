"""What would leave a node, and what would stay or be refused, in words. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from accelwatch_kubernetes.drain.leaving import Leaving, Stay
from accelwatch_kubernetes.drain.verdicts import EvictionVerdict, Verdict

# Pods that are named one by one.
_MOST_NAMED = 10
# Pods that every node has need no mention.
_USUAL = frozenset({Stay.OVER, Stay.MIRROR, Stay.DAEMON, Stay.PLATFORM})


def preview_texts(entries: Sequence[Leaving], verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    """`12 pods would be evicted`, and then each refusal with the pods that it is about.

    A pod that the server refuses now is not counted; one without a dry run is.
    """
    leaving = [entry.pod for entry in entries if entry.stay is None]
    refusals: dict[str, list[str]] = {}
    for pod in leaving:
        verdict = verdicts.get(pod.uid)
        if verdict is not None and verdict.answer is not EvictionVerdict.ALLOWED:
            refusals.setdefault(verdict.text, []).append(pod.path)
    if evicted := len(leaving) - sum(map(len, refusals.values())):
        yield f"{evicted} {'pod' if evicted == 1 else 'pods'} would be evicted"
    for text, paths in refusals.items():
        yield f"refused now: {_named(paths)}: {text}"
    stays = Counter(entry.stay for entry in entries if entry.stay not in (None, *_USUAL))
    for stay, _ in stays.most_common():
        yield f"stays: {_named([entry.pod.path for entry in entries if entry.stay is stay])}: {stay}"


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - _MOST_NAMED
    return ", ".join(paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
