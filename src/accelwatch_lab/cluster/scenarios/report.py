"""What has happened in a scenario so far: its timeline, what was missing, how long a job stood still."""

from collections.abc import Sequence
from typing import Any

import msgspec

from accelwatch_lab.cluster.slurm.step_counter import Line

# A pause between two steps from which on a job has stood still; a step lasts a tenth of that.
_STOOD_STILL_S = 1.0


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a timeline."""

    # Unix seconds.
    at: float
    what: str
    text: str


class ScenarioReport(msgspec.Struct, kw_only=True):
    """One scenario as it was played."""

    scenario: str
    title: str
    # Unix seconds of the first fault.
    fault_at: float | None = None
    entries: list[Entry] = []
    # What should have been seen and was not, or never should have been seen.
    missing: list[str] = []
    # From the first fault to the first step that the job did after it.
    recovered_s: float | None = None

    @property
    def succeeded(self) -> bool:
        """Whether everything was seen that had to be, and nothing else."""
        return not self.missing

    def relative(self, at: float) -> float:
        """Seconds since the first fault; before there is one, 0."""
        return 0.0 if self.fault_at is None else at - self.fault_at

    def document(self) -> dict[str, Any]:
        """The report as JSON has it; times in seconds since the first fault."""
        entries = sorted(self.entries, key=lambda entry: entry.at)
        return {
            "scenario": self.scenario,
            "title": self.title,
            "ended_well": self.succeeded,
            "recovered_s": None if self.recovered_s is None else round(self.recovered_s, 2),
            "missing": self.missing,
            "timeline": [
                {"at_s": round(self.relative(entry.at), 2), "what": entry.what, "text": entry.text}
                for entry in entries
            ],
        }


def line_of(report: ScenarioReport, entry: Entry) -> str:
    """An entry for people."""
    return f"{report.relative(entry.at):+9.2f} s  {entry.what:<12} {entry.text}"


def resumed_at(lines: Sequence[Line], fault_at: float) -> float | None:
    """When a job did its first step after it had stood still; None while it does not."""
    last: Line | None = None
    for line in lines:
        if line.what != "step":
            continue
        if last is not None and line.time > fault_at:
            paused = line.time - max(last.time, fault_at) > _STOOD_STILL_S
            if paused or line.restart > last.restart:
                return line.time
        last = line
    return None


def copies(lines: Sequence[Line]) -> bool:
    """Whether a copy has written after the one that was started after it."""
    counts = [line.restart for line in lines]
    return counts != sorted(counts)
