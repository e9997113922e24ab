"""How a node answers: whether it does, with how many samples, and after what time."""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats
from accelwatch.detection.channels.components.building import active_since, evaluated_nodes, of_rows
from accelwatch.detection.channels.components.memory import Memory
from accelwatch.detection.channels.components.table import Level, values_at
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import Frame, NodeState
from accelwatch.detection.tick import Tick

# One device of eight is 12 % of a node's samples (detection.md 5.3), processes and mounts are less.
_FEWER = 0.9
# 5 times the own median (4.2, S); from half a second on: durations below it are those of the network.
_SLOWER = 5.0
_LEAST_S = 0.5
# A tenth of what is new: the usual number follows a change of configuration in some minutes.
_FOLLOWS = 0.1
# What is usual is known after so many ticks.
_LEARNED = 10
# After a day of samples of 30 s fewer are the rule, as after an update of the exporter.
_FEWER_FOR = 2880
_TICKS = 2
# Nodes that go silent within 5 min of one another go by one cause (4.1, step 6: 20 % of a group).
_TOGETHER_S = 300.0
_MANY = 0.2
# Exporters that start again are back after 90 s, and ten samples in a row are not missed by chance, of
# which one in twenty is at worst (5.1): who is silent for 5 min is down. Until then it is a gap, unless
# its job stands still, which is the matter of the channel of hangs.
_DOWN_S = 300.0
# A node that reboots by itself, or unannounced, is silent for minutes as well: a server
# tests its memory and devices first. To reboot it then may break a firmware update.
_MAY_START_S = 2 * _DOWN_S
# Confirms: between 5, which combines, and 8, which weighs alone (4.3).
_SCORE = 6.0

_CAUSES = ("node_silent", "fewer_samples", "slow_scrape", "exporter_frozen")
FLOATS: dict[str, tuple[int, ...]] = {"since": (len(_CAUSES),), "samples": ()}
CODES: dict[str, tuple[int, ...]] = {"ticks": (len(_CAUSES),), "learned": (), "fewer": ()}


def evidence(memory: Memory, level: Level, tick: Tick) -> list[Evidence]:
    """What has held for two ticks, of nodes."""
    frame = tick.frame
    # A node that is shut down for work is silent, and so is one whose window has only just ended.
    silent = (frame.node_state == NodeState.DOWN) & ~frame.maintenance
    evaluated = evaluated_nodes(tick)
    frozen = np.zeros_like(silent) if tick.repeated is None else tick.repeated
    conditions = (_fewer(memory, frame), _slower(level, tick), frozen)
    active = np.stack((silent, *(evaluated & condition for condition in conditions)))
    ticks = np.where(active, np.maximum(memory.codes["ticks"], 0) + 1, 0)
    memory.codes["ticks"] = np.minimum(ticks, _TICKS).astype(np.int16)
    since = active_since(memory.floats["since"], active, frame.now)
    memory.floats["since"] = since
    present = ticks >= _TICKS
    many = _with_many(since[0]) & present[0]
    silent_s = frame.now - np.where(np.isfinite(frame.node_sampled), frame.node_sampled, since[0])
    down = present[0] & ~many & (silent_s >= _DOWN_S)
    starting = down & (silent_s < _MAY_START_S)
    results = _down(starting, since[0], frame.now, "")
    results += _down(down & ~starting, since[0], frame.now, "reboot")
    results += _confirming(present[0] & ~many & ~down, since[0], frame.now, "node_silent", "")
    # Many at once: a switch, power, or who reads them.
    results += _confirming(many, since[0], frame.now, "many_nodes_silent", "wait")
    for at in range(1, len(_CAUSES)):
        results += _confirming(present[at], since[at], frame.now, _CAUSES[at], "")
    return results


def _down(present: Bools, since: Floats, now: float, advice: str) -> list[Evidence]:
    return of_rows(
        Channel.STRUCTURAL,
        Weight.DECISIVE,
        Subject.NODE,
        "other",
        present,
        since=since,
        now=now,
        score=12.0,
        advice=advice,
        cause="node_silent",
    )


def _confirming(
    present: Bools, since: Floats, now: float, cause: str, advice: str
) -> list[Evidence]:
    return of_rows(
        Channel.STRUCTURAL,
        Weight.CONFIRMING,
        Subject.NODE,
        "scrape",
        present,
        since=since,
        now=now,
        score=_SCORE,
        advice=advice,
        cause=cause,
    )


def _fewer(memory: Memory, frame: Frame) -> Bools:
    """bool[M]: a tenth of the samples that it usually gives is missing, of a node that was read."""
    samples = (~np.isnan(frame.nodes)).sum(axis=0).astype(np.float64)
    of_devices = (~np.isnan(frame.devices)).sum(axis=0)
    samples += np.bincount(frame.node_of, weights=of_devices, minlength=samples.size)
    read = np.isfinite(frame.node_sampled) & (
        frame.now - frame.node_sampled < frame.interval_s * 1.5
    )
    kept = memory.floats["samples"]
    learned = np.maximum(memory.codes["learned"], 0)
    fewer = read & (learned >= _LEARNED) & (samples < _FEWER * kept)
    usual = np.where(np.isnan(kept), samples, kept + _FOLLOWS * (samples - kept))
    lasts = np.where(fewer, np.maximum(memory.codes["fewer"], 0) + 1, 0)
    memory.codes["fewer"] = np.where(read, lasts, memory.codes["fewer"]).astype(np.int16)
    usual = np.where(lasts >= _FEWER_FOR, samples, usual)
    # Frozen while fewer: it must not become the rule within minutes.
    memory.floats["samples"] = np.where(read & (~fewer | (lasts >= _FEWER_FOR)), usual, kept)
    memory.codes["learned"] = np.minimum(learned + (read & ~fewer), _LEARNED).astype(np.int16)
    return np.asarray(fewer)


def _slower(level: Level, tick: Tick) -> Bools:
    """bool[M]: reading it, or what it reads itself, lasts five times as long as it did."""
    slow = np.zeros(tick.nodes.value.shape[1], dtype=np.bool_)
    for key in ("fleet_target_read_duration_seconds", "collector_duration_seconds"):
        position = level.position(key)
        value, usual = values_at(tick.nodes.value, position), values_at(tick.nodes.usual, position)
        slow |= (value > _SLOWER * usual) & (value > _LEAST_S)
    return slow


def _with_many(since: Floats) -> Bools:
    """bool[M]: more than a fifth of all nodes, and two at least, went silent within five minutes."""
    started = np.sort(since[~np.isnan(since)])
    early = np.searchsorted(started, since - _TOGETHER_S, side="left")
    late = np.searchsorted(started, since + _TOGETHER_S, side="right")
    together = np.where(np.isnan(since), 0, late - early)
    return np.asarray(together > max(1.0, _MANY * since.size))
