"""The dashboard's tests on the oldest and on the newest Textual that is allowed: `make textual`.

Needs a package index. Each release goes into a folder of `build/textual`, which comes before the
environment's own; what it depends on is the environment's.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "textual"
TESTS = ("tests/tui", "tests/cli/test_fleet_terminal.py")


def allowed() -> tuple[str, str]:
    """What pip is asked for to get the oldest release, and the newest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirement = next(
        requirement
        for requirement in map(Requirement, project["dependencies"])
        if requirement.name == "textual"
    )
    oldest = next(bound.version for bound in requirement.specifier if bound.operator == ">=")
    return f"textual=={oldest}", str(requirement)


def main(tests: list[str]) -> int:
    """Run the tests on both, and say with which versions. Returns pytest's worst code."""
    codes = {}
    for name, wanted in zip(("oldest", "newest"), allowed(), strict=True):
        folder = FOLDER / name
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([*pip, "--no-deps", "--upgrade", "--target", folder, wanted], check=True)
        environ = {**os.environ, "PYTHONPATH": str(folder)}
        ask = "import textual; print(textual.__version__)"
        version = subprocess.run(
            [sys.executable, "-c", ask], env=environ, capture_output=True, text=True, check=True
        ).stdout.strip()
        print(f"Textual {version}, the {name} that is allowed", flush=True)
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        codes[version] = subprocess.run(run, env=environ, cwd=ROOT, check=False).returncode
    for version, code in codes.items():
        print(f"Textual {version}: {'passed' if code == 0 else 'failed'}")
    return max(codes.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(TESTS)))
