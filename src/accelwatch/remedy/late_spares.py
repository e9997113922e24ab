"""A spare that becomes free for a job that waits on in the queue, while its node is looked after. Pure.

The spare is drawn as a chore, and the move of the job begins anew with it.
"""

from collections.abc import Iterator

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remedy.gates import in_the_way
from accelwatch.remedy.intents import intent_of
from accelwatch.remedy.model import Remedy
from accelwatch.remedy.outcome import Loudness
from accelwatch.remedy.pursued import Ending, Pursued
from accelwatch.remedy.resuming import MOVED_ON
from accelwatch.remedy.standing_in import (
    adrift,
    holder_of,
    may_ask_again,
    not_drawn,
    reserve,
    works,
)
from accelwatch.remedy.surroundings import Surroundings
from accelwatch.remedy.transitions import keep

replace = msgspec.structs.replace
LATE = "draw for "
"""Begins the keys of chores that draw a spare for a job; what follows is the key of its move."""


def draw_late(sur: Surroundings) -> None:
    """Begin to draw a spare for each job that waits on without one, where that may be."""
    for key, move in list(_waiting(sur)):
        remedy = holder_of(sur, move)
        if remedy is None or remedy.spare or LATE + key in sur.state.chores:
            continue
        wants = remedy.policy is not None and remedy.policy.draw_spare
        if wants and may_ask_again(sur, remedy) and not in_the_way(sur, remedy, Kind.DRAW_SPARE):
            _begin(sur, key, move, remedy)


def _waiting(sur: Surroundings) -> Iterator[tuple[str, Intent]]:
    for key, intent in sur.state.chores.items():
        if key.startswith(MOVED_ON) and not intent.spare:
            yield key, intent


def _begin(sur: Surroundings, key: str, move: Intent, remedy: Remedy) -> None:
    after = reserve(sur, remedy)
    keep(sur, remedy, after)
    draw = replace(intent_of(sur, after, Kind.DRAW_SPARE), job=move.job)
    sur.put("chores", LATE + key, draw)
    sur.pursue(draw)


def drawn_late(sur: Surroundings, key: str, pursued: Pursued) -> None:
    """What has come of it; with a spare the move is cancelled, and begins anew when that has ended."""
    draw, remedy = pursued.intent, holder_of(sur, pursued.intent)
    if pursued.ending is Ending.UNKNOWN:
        text = f"it is unknown whether the spare {draw.spare} was drawn: {pursued.text}"
        sur.note(remedy, text, Loudness.ALERT)
        return
    sur.put("chores", key, None)
    done = pursued.ending is Ending.ACHIEVED
    if remedy is None or remedy.spare != draw.spare:
        if done or pursued.original:
            adrift(sur, draw)
    elif not done:
        keep(sur, remedy, not_drawn(sur, remedy, pursued))
    else:
        keep(sur, remedy, works(sur, remedy, draw.spare))
        move = sur.state.chores.get(key.removeprefix(LATE))
        if move is not None:
            sur.cancel(move)
