"""Integrates observations over time, for each user, each job, and all devices together.

A device's reading holds until the next one. Between two that are further apart than a limit nobody
saw anything: those seconds are shown as such and count for nothing else. What a device does is counted
once in the total, however many share it. Where the clock was set, all that was counted moves with it: it
was as long ago as before.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.node.usage.account import MINUTE_S, Account
from accelwatch.node.usage.observation import Observation
from accelwatch.node.usage.shares import (
    FREE,
    OTHERS,
    UNKNOWN,
    Holder,
    Kind,
    Quantity,
    Share,
    by_user,
)
from accelwatch.schema.reading import READS_UNTIL_STALE

# How far back a ledger reports, in whole minutes, and how long it remembers who is gone.
WINDOW_S = 3600.0
# Holders that are never let go of.
_PERMANENT = (FREE, UNKNOWN, OTHERS)
# A wall clock that is off from the monotonic one by less has been steered, not set.
_CLOCK_SET_S = 1.0
# Users, and jobs, of which a ledger keeps sums.
_MOST = 4096


class By(StrEnum):
    """What a row stands for."""

    USER = "user"
    JOB = "job"


class _LastObserved(NamedTuple):
    """A device when it was last observed."""

    time: float
    observation: Observation

    def shares(self) -> Iterator[tuple[By, tuple[Share, ...]]]:
        """Those by user and by job. Recomputed each time: a hub has thousands of devices to keep."""
        observation = self.observation
        yield By.USER, by_user(observation.shares, observation.load, observation.memory_bytes)
        yield By.JOB, observation.shares


class Ledger:
    """What users and jobs have used; bounded by who was there in the last hour. One thread only."""

    def __init__(self, *, gap_limit_s: float, most: int = _MOST) -> None:
        self._gap_limit_s = gap_limit_s
        self._most = most
        self._before: dict[str, _LastObserved] = {}
        self._accounts: dict[By, dict[Holder, Account]] = {By.USER: {}, By.JOB: {}}
        # All devices together; None before the first reading.
        self.total: Account | None = None
        # A device's name by its identity; of all that were ever seen.
        self.names: dict[str, str] = {}
        # Unix seconds of the newest reading.
        self.time = 0.0
        # Its moment, where one was given.
        self._monotonic: float | None = None
        # The reading at which there was no room.
        self._full_at = -1.0
        # Holders that were let go of early, because there were too many.
        self.dropped = 0

    def accounts(self, by: By) -> list[Account]:
        """Of everybody who was there in the last hour."""
        return list(self._accounts[by].values())

    def last_observations(self) -> Iterator[tuple[float, Observation]]:
        """Devices as they were when last observed, Unix seconds."""
        return ((last.time, last.observation) for last in self._before.values())

    def resume(
        self,
        time: float,
        total: Account,
        accounts: Mapping[By, Iterable[Account]],
        observations: Iterable[tuple[float, Observation]],
        names: dict[str, str],
    ) -> None:
        """Go on where another ledger ended at that time."""
        self.time, self.total, self.names = time, total, names
        for by, some in accounts.items():
            self._accounts[by] = {account.holder: account for account in some}
        self._before = {
            observation.device: _LastObserved(timestamp, observation)
            for timestamp, observation in observations
        }

    def add(
        self, time: float, observations: Iterable[Observation], *, monotonic: float | None = None
    ) -> None:
        """The readings of one time, Unix seconds. One that is not newer than its last replaces it.

        `monotonic` is the same in monotonic seconds: by it is known by how much the clock was set.
        Without it, one that goes back was set back since the last reading, and one that jumps ahead was
        not.
        """
        if self.total is None:
            self.total = Account(Holder(Kind.TOTAL), time)
        else:
            self._follow_clock(time, monotonic)
        self._monotonic = monotonic
        new_minute = int(time // MINUTE_S) != int(self.time // MINUTE_S)
        self.time = time
        for observation in observations:
            self._add(time, observation)
        if new_minute:
            self._forget(time - WINDOW_S)

    def _follow_clock(self, time: float, monotonic: float | None) -> None:
        passed = time - self.time
        if monotonic is None or self._monotonic is None:
            set_by = min(passed, 0.0)
        else:
            set_by = passed - (monotonic - self._monotonic)
        if abs(set_by) < _CLOCK_SET_S and passed >= 0.0:
            return
        assert self.total is not None
        for account in (self.total, *self.accounts(By.USER), *self.accounts(By.JOB)):
            account.move(set_by)
        self._before = {
            device: last._replace(time=last.time + set_by) for device, last in self._before.items()
        }
        self.time += set_by

    def _add(self, time: float, observation: Observation) -> None:
        before = self._before.get(observation.device)
        now = _LastObserved(time, observation)
        assert self.total is not None
        self.total.see(observation, None, time)
        self.names[observation.device] = observation.name
        for by, shares in now.shares():
            for share in shares:
                self._account(by, share.holder, time).see(observation, share.started_at, time)
        if before is None or time <= before.time:
            self._before[observation.device] = now
            return
        earlier = before.observation
        near = time - before.time <= max(self._gap_limit_s, READS_UNTIL_STALE * earlier.pace_s)
        if near and _same_sample(before, now):
            return
        self._before[observation.device] = now
        if near and earlier.observed:
            self._add_usage(before, now)
        else:
            self._miss(before, now)

    def _add_usage(self, before: _LastObserved, now: _LastObserved) -> None:
        """The device was held as it was seen, until now."""
        earlier, seconds = before.observation, now.time - before.time
        load = _load(earlier, now.observation, seconds)
        energy = _energy(earlier, now.observation, seconds)
        assert self.total is not None
        full = Share(
            holder=self.total.holder, load=load, memory_bytes=earlier.memory_bytes, energy=1.0
        )
        span = _Span(now.time, seconds, energy)
        _enter(self.total, span, full, load)
        for by, shares in before.shares():
            for share in shares:
                account = self._account(by, share.holder, now.time)
                _enter(account, span, share, load if share.alone else share.load)

    def _miss(self, before: _LastObserved, now: _LastObserved) -> None:
        """The device was not read; only who held it before and after counts as its holder then."""
        assert self.total is not None
        missed = [self.total]
        for (by, old), (_, new) in zip(before.shares(), now.shares(), strict=True):
            still = {share.holder for share in new}
            missed += [
                self._account(by, share.holder, now.time) for share in old if share.holder in still
            ]
        for account in missed:
            for timestamp, seconds in _minutes(before.time, now.time):
                account.sums(timestamp).miss(seconds)

    def _account(self, by: By, holder: Holder, time: float) -> Account:
        accounts = self._accounts[by]
        account = accounts.get(holder)
        if account is not None:
            return account
        if len(accounts) >= self._most and not self._make_room(accounts, time):
            holder = OTHERS
        if holder not in accounts:
            accounts[holder] = Account(holder, time)
        return accounts[holder]

    def _make_room(self, accounts: dict[Holder, Account], time: float) -> bool:
        """Let go of some who hold nothing any more, those gone longest; once a reading at most."""
        if self._full_at == time:
            return False
        inactive = [
            candidate
            for candidate in accounts.values()
            if candidate.last < time and candidate.holder not in _PERMANENT
        ]
        inactive.sort(key=lambda candidate: candidate.last)
        for account in inactive[: max(self._most // 8, 1)]:
            del accounts[account.holder]
            self.dropped += 1
        if not inactive:
            self._full_at = time
        return bool(inactive)

    def _forget(self, since: float) -> None:
        for accounts in self._accounts.values():
            for account in list(accounts.values()):
                account.forget(since)
                if account.last < since and account.holder not in _PERMANENT:
                    del accounts[account.holder]
        if self.total is not None:
            self.total.forget(since)
        self._before = {
            device: before for device, before in self._before.items() if before.time >= since
        }


def _same_sample(before: _LastObserved, now: _LastObserved) -> bool:
    """Whether nothing was read in between; the holder of the device may have changed all the same."""
    then = before.observation.sample_time
    same = then is not None and then == now.observation.sample_time
    return same and before.observation.shares == now.observation.shares


class _Span(NamedTuple):
    """A time for which a device was held: when it ended, its seconds, the device's joules."""

    end: float
    seconds: float
    energy: Quantity


def _enter(account: Account, span: _Span, share: Share, load: Quantity) -> None:
    own = span.energy if isinstance(span.energy, Absence) else span.energy * share.energy
    account.sums(span.end).add_usage(
        span.seconds,
        load=load,
        memory_bytes=share.memory_bytes,
        energy_joules=own,
        shared=not share.alone,
        divided=share.divided,
    )
    quantities = {"load_ratio": load, "memory_bytes": share.memory_bytes, "energy_joules": own}
    for name, value in quantities.items():
        if isinstance(value, Absence):
            account.reasons[name] = value


def _load(earlier: Observation, now: Observation, seconds: float) -> Quantity:
    """The mean load of the time between: by its counter, else as it was at the beginning."""
    if isinstance(earlier.load, Absence) or earlier.busy_s is None or now.busy_s is None:
        return earlier.load
    grown = now.busy_s - earlier.busy_s
    return min(grown / seconds, 1.0) if grown >= 0 else earlier.load


def _energy(earlier: Observation, now: Observation, seconds: float) -> Quantity:
    """Joules of the time between: by a counter that was not reset, else power over time."""
    if earlier.energy_joules is not None and now.energy_joules is not None:
        grown = now.energy_joules - earlier.energy_joules
        if grown >= 0:
            return grown
    if isinstance(earlier.power_watts, Absence):
        return earlier.power_watts
    return earlier.power_watts * seconds


def _minutes(since: float, until: float) -> Iterable[tuple[float, float]]:
    """A time in pieces of a minute of the clock each, as (a moment within it, seconds)."""
    start = max(since, until - WINDOW_S)
    if start > since:
        yield since, start - since
    while start < until:
        end = min((start // MINUTE_S + 1) * MINUTE_S, until)
        yield start, end - start
        start = end
