"""A round of commands on a host as the devices that they list; one reader a host, which remembers."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import msgspec

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.remote import CommandOutput, Remote, RemoteReader, RemoteRow
from accelwatch.base.absence import Absence
from accelwatch.base.errors import AccelwatchError, ReadError
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.poll import Exposed
from accelwatch.fleet.ssh.answers import outputs_of
from accelwatch.node.sampler.turns.contract import ContractError, sound_devices, sound_readings
from accelwatch.schema.device import STATE_WITHOUT_VALUES, Device, DeviceState
from accelwatch.schema.health import Health, HealthEvaluation, evaluate_health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Reading, complete, in_catalogue, wholly_absent
from accelwatch.schema.snapshot import DeviceView

# Of the data of a command: `ssh:nvidia-smi`.
DIALECT = "ssh:{}"
_GROUPS: frozenset[str] = frozenset()


class RoundReader:
    """Turns what the script wrote in a round into devices; callable as a reader of expositions."""

    def __init__(
        self, backends: Mapping[str, Remote], marker: str, now: Callable[[], float] = time.time
    ) -> None:
        self._backends = backends
        self._marker = marker
        self._now = now
        self._readers: dict[str, RemoteReader] = {}
        # By backend, those that it listed last.
        self._devices: dict[str, tuple[Device, ...]] = {}
        self._since: dict[str, tuple[DeviceState, float]] = {}

    def __call__(self, body: bytes) -> Exposed:
        """The devices of a round. Raises TargetFault when there is none."""
        outputs = outputs_of(body, self._marker)
        now = self._now()
        views: list[DeviceView] = []
        faults: list[AccelwatchError] = []
        programs: list[str] = []
        for name, remote in self._backends.items():
            prefix = f"{name}."
            own = {
                key.removeprefix(prefix): output
                for key, output in outputs.items()
                if key.startswith(prefix)
            }
            if not own:
                continue
            rows, fault = self._rows(name, remote, own)
            if fault is not None:
                faults.append(fault)
            if rows:
                programs += [output.program.rpartition("/")[2] for output in own.values()]
            views += [self._view(device, outcome, now) for device, outcome in rows]
        if not views:
            text = "; ".join(dict.fromkeys(map(str, faults))) or "its commands list no accelerator"
            raise TargetFault(Reason.NO_SOURCE, text)
        return Exposed(
            dialect="+".join(DIALECT.format(program) for program in dict.fromkeys(programs)),
            devices=tuple(views),
        )

    def _rows(
        self, name: str, remote: Remote, own: Mapping[str, CommandOutput]
    ) -> tuple[Sequence[RemoteRow], AccelwatchError | None]:
        """What a backend makes of it; where it fails, the devices of before with the reason."""
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = remote.reader()
        try:
            rows = tuple(reader.read(own))
            self._devices[name] = sound_devices([device for device, _ in rows])
        except (ReadError, BackendUnavailable, ContractError) as error:
            fault = error if isinstance(error, AccelwatchError) else ReadError(str(error))
        except Exception as error:  # noqa: BLE001 - a parser's bug costs its backend's devices only
            fault = ReadError(f"{name}: {type(error).__name__}: {error!s:.200}")
        else:
            return rows, None
        why = fault if isinstance(fault, ReadError) else ReadError(str(fault))
        return [(device, why) for device in self._devices.get(name, ())], fault

    def _view(self, device: Device, outcome: Reading | ReadError, now: float) -> DeviceView:
        state = DeviceState.OK
        if isinstance(outcome, ReadError):
            state = STATE_WITHOUT_VALUES[outcome.absence]
            reading = wholly_absent(device.id, outcome.absence)
        else:
            try:
                (reading,) = sound_readings([outcome], (device,), _GROUPS)
            except ContractError as error:
                return self._view(device, ReadError(str(error)), now)
            reading = _shared(reading)
        # One that is not well in the first round may have been so for long.
        first = now if state is DeviceState.OK else 0.0
        before, since = self._since.get(device.id, (state, first))
        if before is not state:
            since = now
        self._since[device.id] = state, since
        evaluation = _evaluated_health(state, reading, outcome, now)
        return DeviceView(
            device=device,
            state=state,
            state_since=since,
            reading=reading,
            sample_time=None if isinstance(outcome, ReadError) else now,
            sample_age_s=None if isinstance(outcome, ReadError) else 0.0,
            health=evaluation.health,
            health_reasons=evaluation.reasons,
        )


# Series that were read, each once: those of a reading are objects of its own.
_series: dict[Series, Series] = {}
_MANY_SERIES = 20_000


def _shared(reading: Reading) -> Reading:
    """The reading, complete, with what it has in common with others held once."""
    if len(_series) > _MANY_SERIES:
        _series.clear()
    values = {_series.setdefault(series, series): value for series, value in reading.values.items()}
    keys = frozenset(values), frozenset(reading.absent.items())
    absent = _absences(*keys, reading.processes is not None)
    if absent is None:
        return complete(reading, _GROUPS)
    return msgspec.structs.replace(reading, values=values, absent=absent)


# The reasons depend on which series there are, not on values, so all rounds of alike hosts share
# them. Callers must not change the dict.
@lru_cache(maxsize=1 << 10)
def _absences(
    values: frozenset[Series], absent: frozenset[tuple[Series, Absence]], processes: bool
) -> dict[Series, Absence] | None:
    """Every reason of a reading with these; None where some of it is not in the catalogue."""
    if not all(map(in_catalogue, values)):
        return None
    reading = Reading(
        device_id="",
        values=dict.fromkeys(values, 0),
        absent=dict(absent),
        processes=() if processes else None,
    )
    return complete(reading, _GROUPS).absent


def _evaluated_health(
    state: DeviceState, reading: Reading, outcome: Reading | ReadError, now: float
) -> HealthEvaluation:
    if not isinstance(outcome, ReadError):
        return evaluate_health(state, reading, (), now)
    if state is DeviceState.DEGRADED:  # the command failed, which is no word of the device's
        return HealthEvaluation(Health.UNKNOWN, (str(outcome),))
    evaluation = evaluate_health(state, reading, (), now)
    return HealthEvaluation(evaluation.health, (*evaluation.reasons, str(outcome)))
