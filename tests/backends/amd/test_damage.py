"""Whole machines with damaged files: the backend answers or refuses by its contract, never otherwise."""

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

from accelwatch.backend import Request
from accelwatch.base.errors import ReadError
from accelwatch.schema.catalogue.lookup import by_key, opt_in_groups
from accelwatch.schema.reading import Reading

ROUNDS = 8
DAMAGE = (b"", b"\0" * 64, b"-1\n", b"nan\n", b"\xff\xfe\xfd", b"18446744073709551615\n", b"N/A\n")


def damage(folder: Path, chance: random.Random) -> None:
    """Cut, empty, overwrite or remove a fifth of the files."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or chance.random() > 0.2:
            continue
        content = path.read_bytes()
        kind = chance.randrange(4)
        if kind == 0:
            path.unlink()
        elif kind == 1:
            path.write_bytes(content[: chance.randrange(len(content) + 1)])
        else:
            path.write_bytes(chance.choice(DAMAGE) if kind == 2 else chance.randbytes(40))


def check(reading: Reading) -> None:
    for series, value in reading.values.items():
        metric = by_key()[series[0]]
        assert len(series) - 1 == len(metric.labels)
        assert value >= 0
        assert value <= 1 or metric.unit != "ratio"
        assert series not in reading.absent
    for series in reading.absent:
        assert series[0] == "processes" or series[0] in by_key()


@pytest.mark.parametrize("name", ["mi300x-x2", "rx7900", "mi300x-faulty"])
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_damaged_machine(composed: Any, name: str, seed: int) -> None:
    machine = composed(name)
    machine.wake_suspended = True
    backend = machine.backend()
    devices = machine.devices(backend) if seed % 2 else []
    damage(machine.root / "sys", random.Random(seed))
    damage(machine.root / "proc", random.Random(seed))
    for device in [*devices, *backend.discover()]:
        if device.partition is not None:
            continue
        with contextlib.suppress(ReadError):
            backend.identify(device)
        for _ in range(2):
            machine.clock.advance(1.0)
            with contextlib.suppress(ReadError):
                for reading in backend.read(device, Request(groups=frozenset(opt_in_groups()))):
                    check(reading)
