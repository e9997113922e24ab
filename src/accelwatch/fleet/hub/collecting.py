"""Garbage collection of a hub: what lives long is set aside, so that no collection ever takes long.

A fleet is millions of objects that live for as long as its targets. Looking through all of them takes a
third of a second, in which nothing else happens.
"""

import asyncio
import gc

YOUNG = (20_000, 5, 1_000_000)
"""Thresholds: young objects are looked through often and in milliseconds, old ones only by `tend`."""
_EVERY_S = 60.0
_THAW_EVERY = 60
"""Every hour those set aside are looked through too: a target that has gone may have left a cycle."""


async def tend() -> None:
    """Collect what is young and set aside what is left, again and again until cancelled."""
    gc.set_threshold(*YOUNG)
    turn = 0
    try:
        while True:
            await asyncio.sleep(_EVERY_S)
            if turn and turn % _THAW_EVERY == 0:
                gc.unfreeze()
            # At first all that the start has made is there, and hardly any of it is garbage.
            gc.collect(2 if turn else 1)
            gc.freeze()
            turn += 1
    finally:
        gc.unfreeze()
