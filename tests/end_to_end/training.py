"""A job that counts steps and writes checkpoints: the example of a job that fences itself."""

from pathlib import Path

from support.slurm.lab_cluster import until
from support.slurm.site import SlurmSite

EXAMPLE = Path(__file__).parents[2] / "examples" / "slurm-checkpoint-lock"


class Training:
    """One such job; it runs when this is made."""

    def __init__(self, site: SlurmSite, folder: Path, *options: str) -> None:
        self._slurm = site.slurm
        self._checkpoints = folder / "checkpoints"
        self._output = folder / "output"
        given = f"--export=ALL,PROGRAM={EXAMPLE},CHECKPOINTS={self._checkpoints}"
        words = ("sbatch", "--parsable", f"--chdir={folder}", f"--output={self._output}", given)
        self.id = self._slurm.run(*words, *options, str(EXAMPLE / "train.sbatch"))
        until(lambda: self.step(0) >= 3, "the job trains")

    def step(self, copy: int) -> int:
        """The newest checkpoint that a copy of the job has written itself; 0 when there is none."""
        folders = (self._checkpoints / f"{word}-{copy}" for word in ("copy", "closed"))
        steps = (int(file.name[5:]) for one in folders for file in one.glob("step-*"))
        return max(steps, default=0)

    @property
    def copies(self) -> set[str]:
        """Which copies have ever written."""
        return {one.name.partition("-")[2] for one in self._checkpoints.iterdir()}

    @property
    def output(self) -> str:
        """What it has printed."""
        return self._output.read_text()

    def field(self, name: str) -> str:
        """What Slurm shows of it."""
        return _field(self._slurm.job(self.id), name)

    def runs_again(self) -> bool:
        """Whether it has been begun again and runs: both of one look, for it ends in between."""
        shown = self._slurm.job(self.id)
        return _field(shown, "JobState") == "RUNNING" and _field(shown, "Restarts") != "0"

    def has_gone_on(self) -> None:
        """The second copy trains, from where the first one was; it is the only other one."""
        until(lambda: self.step(1) > self.step(0), "it goes on from its checkpoint")
        # What a copy prints comes through srun, later than the checkpoint that it has written.
        first_line = f"copy 1 begins after step {self.step(0)}\n"
        until(lambda: first_line in self.output, f"{first_line!r} stands in the output")
        assert self.copies == {"0", "1"}
        assert self.field("Restarts") == "1"


def _field(shown: str, name: str) -> str:
    return shown.partition(f" {name}=")[2].partition(" ")[0]
