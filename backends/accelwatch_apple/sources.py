"""The commands that read a Mac: one round of them is a moment.

ioreg, vm_stat and notifyutil are part of macOS and may be run by anybody. Power, clocks and heat are
read by powermetrics, which only root may run, or by macmon where it is installed. What root runs lies in
folders of the system, or was named in the configuration: Homebrew's belong to whoever installed it.
"""

from pathlib import Path

import msgspec

from accelwatch.backend import Context
from accelwatch.backend.kit.vendor_program import chosen_program, output_of
from accelwatch.base.absence import Absence
from accelwatch.base.backoff import Backoff
from accelwatch.base.errors import AccelwatchError, DevicePermission, DeviceTimeout, ReadError
from accelwatch_apple import macmon, powermetrics
from accelwatch_apple.identity import SYSCTLS, Machine, machine_of, profile_of, sysctl_values
from accelwatch_apple.owners import ARGUMENTS, Owner, owners
from accelwatch_apple.registry import Accelerator, Properties, parse_accelerators, parse_platform
from accelwatch_apple.sample import Measurement, Sample
from accelwatch_apple.system import IOREG, System
from accelwatch_apple.thermal_pressure import KEY, pressure_of_state
from accelwatch_apple.unified_memory import used_bytes

POWERMETRICS = "usr/bin/powermetrics"
_SYSCTL, _PROFILER = "usr/sbin/sysctl", "usr/sbin/system_profiler"
_VM_STAT, _NOTIFYUTIL, _PS = "usr/bin/vm_stat", "usr/bin/notifyutil", "bin/ps"
_MACMON_FOLDERS = ("opt/homebrew/bin", "usr/local/bin", "opt/local/bin")
# The window of powermetrics and macmon for one sample.
_WINDOW_MS = "500"
# Releases without a sampler for the neural engine report its power with the CPU's.
_SAMPLERS = ("cpu_power,gpu_power,ane_power,thermal", "cpu_power,gpu_power,thermal")
_TIMEOUT_S = 3.0
_PROFILER_TIMEOUT_S = 2.5


class PollResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one round of commands said."""

    accelerators: tuple[Accelerator, ...]
    sample: Sample = Sample()
    # The command that the sample is of; empty where there is none.
    sampler: str = ""
    # Why a sample's values are absent, where there is no sample.
    absence: Absence = Absence.UNSUPPORTED
    # The same for people.
    why: str = ""
    used_bytes: Measurement = Absence.UNSUPPORTED
    pressure: str | None = None
    pressure_from: str = ""
    # Of all processes, by pid.
    owners: dict[int, Owner] = {}
    # Share of the time since the round before in which the GPU worked for a process, by pid.
    shares: dict[int, float] = {}


class Sources:
    """Runs the commands; one thread at a time."""

    def __init__(self, context: Context, system: System) -> None:
        self._context = context
        self._is_root = system.is_root
        self._samplers = 0
        self._backoff = Backoff(first_s=10.0, limit_s=300.0)
        self._failure: AccelwatchError | None = None
        self._gpu_times: dict[int, int] = {}
        self._polled_at = 0.0

    def macmon(self) -> Path | None:
        """The program, where it may be run."""
        named = self._context.options.get("macmon")
        if self._is_root and not isinstance(named, str):
            return None
        return chosen_program(self._context.root, named, ("macmon",), _MACMON_FOLDERS)

    def machine(self) -> Machine:
        """Who the machine is, as far as commands answer."""
        platform: Properties = {}
        profile: Properties = {}
        values: Properties = {}
        ioreg = ("-a", "-r", "-d", "1", "-c", "IOPlatformExpertDevice")
        if (output := self._output_or_none(IOREG, *ioreg)) is not None:
            try:
                platform = parse_platform(output)
            except ReadError:
                platform = {}
        if (output := self._output_or_none(_SYSCTL, "-i", *SYSCTLS)) is not None:
            values = sysctl_values(output)
        profiler = ("-json", "SPHardwareDataType")
        if (
            output := self._output_or_none(_PROFILER, *profiler, timeout_s=_PROFILER_TIMEOUT_S)
        ) is not None:
            profile = profile_of(output)
        return machine_of(platform, values, profile)

    def poll(self) -> PollResult:
        """One round. Raises ReadError when ioreg cannot be run, or prints nonsense."""
        root = self._context.root
        ioreg = ("-a", "-r", "-d", "2", "-w", "0", "-c", "IOAccelerator")
        accelerators = parse_accelerators(output_of(root / IOREG, *ioreg, timeout_s=_TIMEOUT_S))
        result = PollResult(
            accelerators=accelerators,
            used_bytes=self._used(),
            owners=owners(self._output_or_none(_PS, *ARGUMENTS) or b""),
            shares=self._shares(accelerators),
        )
        return self._with_pressure(self._with_sample(result))

    def _with_sample(self, result: PollResult) -> PollResult:
        now, replace = self._context.clock.monotonic(), msgspec.structs.replace
        program = self.macmon()
        if program is None and not self._is_root:
            has_powermetrics = (self._context.root / POWERMETRICS).is_file()
            absence = Absence.PERMISSION if has_powermetrics else Absence.UNSUPPORTED
            return replace(
                result,
                absence=absence,
                why="power, clocks and temperatures need root, or macmon",
            )
        if self._backoff.ready(now):
            try:
                sample = self._powermetrics() if program is None else self._macmon(program)
            except AccelwatchError as error:
                self._failure = error
                self._backoff.failed(now)
            else:
                self._failure = None
                self._backoff.succeeded()
                sampler = "powermetrics" if program is None else "macmon"
                return replace(result, sample=sample, sampler=sampler)
        return replace(result, absence=_reason(self._failure), why=str(self._failure))

    def _macmon(self, program: Path) -> Sample:
        arguments = ("pipe", "-s", "1", "-i", _WINDOW_MS)
        return macmon.parse_pipe(output_of(program, *arguments, timeout_s=_TIMEOUT_S))

    def _powermetrics(self) -> Sample:
        """With the first set of samplers that this release knows."""
        program = self._context.root / POWERMETRICS
        arguments = ("-n", "1", "-i", _WINDOW_MS, "-f", "plist", "--samplers")
        for at in range(self._samplers, len(_SAMPLERS)):
            try:
                output = output_of(program, *arguments, _SAMPLERS[at], timeout_s=_TIMEOUT_S)
            except (DeviceTimeout, DevicePermission):
                raise
            except ReadError:
                if at + 1 == len(_SAMPLERS):
                    raise
                continue
            sample = powermetrics.parse(output)
            self._samplers = at
            return sample
        raise AssertionError("there is a last set of samplers")

    def _with_pressure(self, result: PollResult) -> PollResult:
        level, source = result.sample.pressure, result.sampler
        if level is None and (output := self._output_or_none(_NOTIFYUTIL, "-g", KEY)) is not None:
            try:
                level, source = pressure_of_state(output), "notifyutil"
            except ReadError:
                level = None
        return msgspec.structs.replace(
            result, pressure=level, pressure_from=source if level else ""
        )

    def _used(self) -> Measurement:
        output = self._output_or_none(_VM_STAT)
        if output is None:
            return Absence.UNSUPPORTED
        try:
            return used_bytes(output)
        except ReadError:
            return Absence.ERROR

    def _shares(self, accelerators: tuple[Accelerator, ...]) -> dict[int, float]:
        """By pid; a process that is new, or whose counter fell, has none yet."""
        now = self._context.clock.monotonic()
        passed_s, before = now - self._polled_at, self._gpu_times
        times = {
            client.pid: client.gpu_ns
            for accelerator in accelerators[:1]
            for client in accelerator.clients
            if client.gpu_ns is not None
        }
        self._gpu_times, self._polled_at = times, now
        if passed_s <= 0:
            return {}
        grown = {pid: time - before[pid] for pid, time in times.items() if pid in before}
        return {pid: min(1.0, ns * 1e-9 / passed_s) for pid, ns in grown.items() if ns >= 0}

    def _output_or_none(
        self, program: str, *arguments: str, timeout_s: float = _TIMEOUT_S
    ) -> bytes | None:
        """What a command printed; its failure costs no more than its output."""
        try:
            return output_of(self._context.root / program, *arguments, timeout_s=timeout_s)
        except ReadError:
            return None


def _reason(failure: AccelwatchError | None) -> Absence:
    if isinstance(failure, DeviceTimeout):
        return Absence.TIMEOUT
    return Absence.PERMISSION if isinstance(failure, DevicePermission) else Absence.ERROR
