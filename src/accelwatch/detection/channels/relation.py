"""Relations that break: power that no longer follows its own load, links that send but do not receive.

Covers stuck sensors, power caps, partial hangs. A break of most of a group at once means that its work
has changed, and accuses no member. Without peers the two look the same, so a
break only confirms there.
"""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, or_zero
from accelwatch.detection.channels.components import persistence
from accelwatch.detection.channels.components.beside_peers import beside_peers
from accelwatch.detection.channels.components.building import (
    by_family,
    evaluated_devices,
    job_checksums,
)
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Table, values_at
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.tick import Tick

# Own power on a constant, utilization, compute active, clock in GHz (detection.md 4.2, R).
_TERMS = 4
# Forgets within 1000 ticks: 8 h at 30 s, longer than a save's period of 2.5 h (1.4), so that all phases
# are known, and shorter than a day's swing of temperature (5.1).
_FORGET = 0.999
# The covariance begins wide against coefficients of some hundred watts.
_WIDE = 1e4
# No smaller error than so much of the level means anything: the floor of scales (4.1, step 3).
_RELATIVE = 0.005
_STEP_W = 1.0
# Ticks that are learned before anything is judged: ten a term would be too few for noise that is
# correlated over tau = 13 min (4.4); 120 ticks are an hour at 30 s.
_LEARNED = 120.0
# Errors beyond this are judged and not learned: a break must not become the rule (frozen while flagged).
_LEARN_BELOW = 5.0
# Weight of a tick in the variance: two hours at 30 s, some tau.
_VARIANCE_SHARE = 1 / 240
# After so many ticks in a row beyond 5 a break is the new rule, as after a change of power limit: a day.
_RELEARN = 2880.0
# Links are judged while they carry something: below it the share of receiving is noise.
_TRAFFIC = 1e6
_SHARE_FLOOR = 0.02
# Of the time that it works (detection.md 5.2: 0.994 in training, 0.14 where memory is moved): at rest,
# loading and saving, power follows the clock and not the load, and no line goes through both.
_WORKING = 0.5


_LINKS = "interconnect_bytes_total"


def _memory() -> Memory:
    runs = persistence.memory(2)
    return Memory(
        {
            "weights": (_TERMS,),
            "covariance": (_TERMS, _TERMS),
            # Of errors of power and of shares: mean square, ticks learned, ticks refused in a row.
            "variance": (2,),
            "learned": (2,),
            "refused": (2,),
            "share": (),
            # Checksum of the job; -1 for none.
            "job": (),
            # Terms that it has reported.
            "had": (2,),
            "since": runs.floats["since"].shape[:-1],
        },
        {"recent": runs.codes["recent"].shape[:-1]},
    )


class Relation(ChannelState):
    """Channel R. Devices only."""

    def __init__(self, table: Table) -> None:
        super().__init__(_memory())
        devices = table.devices
        self._power = devices.position("power_watts")
        self._load = devices.position("utilization_ratio")
        # Which of them a vendor reports differs; the first that is known.
        self._active = [
            devices.position(key) for key in ("compute_active_ratio", "matrix_active_ratio")
        ]
        self._clock = [devices.position("clock_hertz", name) for name in ("sm", "graphics")]
        self._receives = devices.position(_LINKS, "nvlink", "receive")
        self._sends = devices.position(_LINKS, "nvlink", "transmit")

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Errors of 5 and more that have lasted, of power and of links."""
        self._forget_other_jobs(tick)
        working = values_at(tick.devices.value, self._load) >= _WORKING
        evaluated = evaluated_devices(tick) & ~tick.devices.on_hold & working
        own = np.stack((self._power_error(tick, evaluated), self._share_error(tick, evaluated)))
        errors, has_peers = beside_peers(own, tick.devices.groups)
        # Who draws what its peers draw at the same work is in order, whatever was learned: below 5,
        # which is of weight in no combination (4.3).
        for position, signal in enumerate((self._power, self._receives)):
            in_order = np.abs(values_at(tick.devices.z, signal)) < persistence.ENTRY
            errors[position, has_peers[position] & in_order] = 0.0
        # A load of 100 % says nothing of how much work is done in it: a service by day draws more than
        # it did in the early morning. Only peers can distinguish that from a fault, which draws less.
        errors[0, ~has_peers[0] & (errors[0] > 0.0)] = 0.0
        now = tick.frame.now
        score, since = persistence.kept_level(self.devices, np.abs(errors), now)
        results: list[Evidence] = []
        for weight, chosen in (
            (Weight.STATISTICAL, has_peers),
            (Weight.CONFIRMING, ~has_peers),
        ):
            results += by_family(
                Channel.RELATION,
                weight,
                Subject.DEVICE,
                {"power": np.array([0]), "nvlink": np.array([1])},
                score=np.where(chosen, score, np.nan),
                since=since,
                now=now,
            )
        signals = {"power": self._power, "nvlink": self._receives}
        return [
            item._replace(signal=np.full_like(item.signal, signals[item.family]))
            for item in results
        ]

    def _forget_other_jobs(self, tick: Tick) -> None:
        """Another program draws another power at the same load."""
        checksums = np.nan_to_num(job_checksums(tick.frame), nan=-1.0)
        self.devices.void(np.flatnonzero(self.devices.floats["job"] != checksums))
        self.devices.floats["job"] = checksums

    def _power_error(self, tick: Tick, evaluated: Bools) -> Floats:
        """Standard deviations that power is away from what its load makes it, float64[R]."""
        value = tick.devices.value
        power = values_at(value, self._power)
        kept = self.devices.floats
        optional = np.stack((_first(value, self._active), _first(value, self._clock) / 1e9))
        had = kept["had"] == 1
        kept["had"] = np.where(had | ~np.isnan(optional), 1.0, np.nan)
        # What a device never reports is a term that is always 0, and has no weight; what it has
        # reported and does not now is unknown.
        optional = np.where(np.isnan(optional) & ~had, 0.0, optional)
        x = np.stack((np.ones_like(power), values_at(value, self._load), *optional))
        finite = evaluated & ~np.isnan(power) & ~np.isnan(x).any(axis=0)
        fresh = np.isnan(kept["weights"][0])
        kept["weights"][:, fresh] = 0.0
        kept["covariance"][:, :, fresh] = np.eye(_TERMS)[:, :, None] * _WIDE
        x = np.where(finite, x, 0.0)
        error = np.where(finite, power - np.einsum("tr,tr->r", kept["weights"], x), np.nan)
        gained = np.einsum("tur,ur->tr", kept["covariance"], x)
        # How uncertain the relation itself is: a load or clock that was never seen is no break.
        unsure = np.einsum("tr,tr->r", x, gained)
        floor = np.maximum(_STEP_W, _RELATIVE * np.abs(power))
        z, learns = self._normalized(0, error, floor, np.sqrt(1.0 + unsure))
        # Terms that do not vary would let the covariance grow for ever: then nothing is forgotten.
        bounded = np.einsum("ttr->r", kept["covariance"]) < _TERMS * _WIDE
        forget = np.where(bounded, _FORGET, 1.0)
        gain = gained / (forget + unsure)
        kept["weights"] += np.where(learns, gain * or_zero(error), 0.0)
        after = (kept["covariance"] - gain[:, None, :] * gained[None, :, :]) / forget
        kept["covariance"] = np.where(learns, after, kept["covariance"])
        return z

    def _share_error(self, tick: Tick, evaluated: Bools) -> Floats:
        """Standard deviations that the share of receiving is away from its own mean, float64[R]."""
        received = values_at(tick.devices.value, self._receives)
        both = received + values_at(tick.devices.value, self._sends)
        finite = evaluated & (both > _TRAFFIC)
        share = np.divide(received, both, out=np.full_like(both, np.nan), where=finite)
        kept = self.devices.floats
        mean = np.where(np.isnan(kept["share"]), share, kept["share"])
        error = share - mean
        z, learns = self._normalized(
            1, error, np.full_like(error, _SHARE_FLOOR), np.ones_like(error)
        )
        kept["share"] = np.where(learns, mean + _VARIANCE_SHARE * error, kept["share"])
        return z

    def _normalized(
        self, which: int, error: Floats, floor: Floats, times: Floats
    ) -> tuple[Floats, Bools]:
        """Errors in standard deviations, NaN until enough is learned; and which rows learn of them."""
        kept = self.devices.floats
        for name in ("variance", "learned", "refused"):
            kept[name][which][np.isnan(kept[name][which])] = 0.0
        finite = ~np.isnan(error)
        scale = np.maximum(np.sqrt(kept["variance"][which]), floor)
        z = error / (scale * times)
        ready = kept["learned"][which] >= _LEARNED
        refused = finite & ready & (np.abs(z) >= _LEARN_BELOW)
        kept["refused"][which] = np.where(
            refused, kept["refused"][which] + 1, np.where(finite, 0.0, kept["refused"][which])
        )
        learns = finite & (~refused | (kept["refused"][which] > _RELEARN))
        # The first errors are those of a relation that knows nothing yet, and are left out.
        counted = learns & (kept["learned"][which] >= _LEARNED / 2)
        square = np.square(or_zero(error) / times) - kept["variance"][which]
        share = np.maximum(_VARIANCE_SHARE, 1 / (kept["learned"][which] - _LEARNED / 2 + 1).clip(1))
        kept["variance"][which] += np.where(counted, share * square, 0.0)
        kept["learned"][which] += learns
        return np.where(ready, z, np.nan), learns


def _first(value: Floats, positions: list[int]) -> Floats:
    """Of two signals the first that is known, float64[R]."""
    first, second = (values_at(value, position) for position in positions)
    return np.where(np.isnan(first), second, first)
