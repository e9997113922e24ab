"""What the log says of targets that fail and are back: a line each of a few, one line of many.

Failures are held back for some seconds, so that a switch that fails is a line and not one for each node
behind it. After such a line the next is further away, up to a minute, while targets go on failing.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.target import Target

logger = logging.getLogger(__name__)

# How long the first failure waits for others.
FIRST_S = 5.0
LONGEST_S = 60.0
# Up to so many targets have a line each.
SINGLE = 3
_MOST_NAMED = 8
_MOST_CAUSES = 3

CallLater = Callable[[float, Callable[[], None]], object]


def _call_later(delay_s: float, action: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(delay_s, action)


class _Failure(NamedTuple):
    target: Target
    fault: TargetFault


class FailureLog:
    """Of all targets of a hub; the loop's thread only."""

    def __init__(self, call_later: CallLater = _call_later) -> None:
        self._call_later = call_later
        # Why the targets fail of which the log has said so, by key.
        self._logged: dict[str, Reason] = {}
        # Those of them that were one of many: another reason is not worth a line of its own.
        self._counted: set[str] = set()
        self._failed: dict[str, _Failure] = {}
        self._back: dict[str, Target] = {}
        self._wait_s = FIRST_S
        self._waits = False

    def failed(self, target: Target, fault: TargetFault) -> None:
        """An attempt to read it failed."""
        key = target.key
        self._back.pop(key, None)
        if key in self._counted or self._logged.get(key) is fault.reason:
            return
        self._failed[key] = _Failure(target, fault)
        self._schedule()

    def recovered(self, target: Target) -> None:
        """It is well."""
        self._failed.pop(target.key, None)
        if target.key in self._logged:
            self._back[target.key] = target
            self._schedule()

    def forget(self, target: Target) -> None:
        """It is no target any more."""
        for kept in (self._failed, self._back, self._logged):
            kept.pop(target.key, None)
        self._counted.discard(target.key)

    def flush(self) -> None:
        """Log what has come together."""
        self._waits = False
        failed, back = self._failed, self._back
        self._failed, self._back = {}, {}
        for key in back:
            del self._logged[key]
            self._counted.discard(key)
        self._logged.update({key: failure.fault.reason for key, failure in failed.items()})
        many = max(len(failed), len(back)) > SINGLE
        self._wait_s = min(2 * self._wait_s, LONGEST_S) if many else FIRST_S
        if len(failed) > SINGLE:
            self._counted.update(failed)
            _log_many(failed.values())
        else:
            for target, fault in failed.values():
                logger.info(
                    "a target fails node=%s target=%s reason=%s: %s",
                    *(target.node, target.address, fault.reason, fault),
                )
        if len(back) > SINGLE:
            logger.info("targets are back count=%d nodes=%s", len(back), _names(back.values()))
        else:
            for target in back.values():
                logger.info("a target is back node=%s", target.node)

    def _schedule(self) -> None:
        if not self._waits:
            self._waits = True
            self._call_later(self._wait_s, self.flush)


def _log_many(failed: Iterable[_Failure]) -> None:
    failures = list(failed)
    causes = Counter(str(failure.fault) for failure in failures).most_common(_MOST_CAUSES)
    logger.warning(
        "targets fail count=%d nodes=%s: %s",
        len(failures),
        _names(failure.target for failure in failures),
        ", ".join(f"{cause} ({count})" for cause, count in causes),
    )


def _names(targets: Iterable[Target]) -> str:
    names = list(dict.fromkeys(target.node for target in targets))
    more = f",... {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ",".join(names[:_MOST_NAMED]) + more
