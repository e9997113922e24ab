"""Garbage collection of a hub: long-lived objects are set aside, so that every collection is short.

What connecting to a whole fleet has freed goes back to the system then.

A fleet is millions of objects that live for as long as its targets. Looking through all of them takes
two seconds for 10,000 nodes, in which nothing else happens.
"""

import asyncio
import contextlib
import gc
from collections.abc import Iterator

from accelwatch.system.daemon.memory import give_back

# Thresholds: young objects are looked through often and in milliseconds, old ones only by `tend`.
_YOUNG = (20_000, 5, 1_000_000)
_EVERY_S = 60.0
# Every hour those set aside are counted: a target that has gone may have left a cycle.
_FULL_EVERY = 60
# So many times what there was when all was looked through last, and it is again: a hub whose fleet
# stays as it is never stops for it.
_GROWN = 1.25


def spare_the_old() -> None:
    """Scan old objects only on request: from before the first round, which makes most of them.

    With Python's thresholds a quarter of that round goes into looking through what it has just made.
    """
    gc.set_threshold(*_YOUNG)


@contextlib.contextmanager
def all_is_kept() -> Iterator[None]:
    """Collect nothing for a short while in which nearly all that is made stays, and set that aside."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


async def tend() -> None:
    """Collect what is young and set aside what is left, again and again until cancelled."""
    spare_the_old()
    turn = settled = 0
    try:
        while True:
            await asyncio.sleep(_EVERY_S)
            is_full = (
                turn > 0 and turn % _FULL_EVERY == 0 and gc.get_freeze_count() > _GROWN * settled
            )
            if is_full:
                gc.unfreeze()
            # What has lived through two young collections is alive, but for rare cycles: they wait for
            # the look through everything.
            gc.collect(2 if is_full else 1)
            gc.freeze()
            if is_full or not turn:
                settled = gc.get_freeze_count()
                give_back()
            turn += 1
    finally:
        gc.unfreeze()
