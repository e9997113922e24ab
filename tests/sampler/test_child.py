"""The collector process by itself: what it does when nobody reads its reports any more."""

import os
import subprocess
import sys
from pathlib import Path

from accelwatch.sampler.frames import Stream, encode
from accelwatch.sampler.settings import Begin, CollectSettings
from accelwatch.store.reports import Cycle
from sampler.fakes import FAKE


def test_a_collector_that_nobody_reads_ends_without_a_word(tests_path: str, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    options: dict[str, dict[str, object]] = {FAKE: {"close_file": str(closed)}}
    settings = CollectSettings(
        backends=(FAKE,), options=options, interval_s=0.2, root="/nonexistent"
    )
    crash = os.memfd_create("crash")
    with subprocess.Popen(
        [sys.executable, "-m", "accelwatch.sampler.child", str(crash)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(crash,),
        env={**os.environ, "PYTHONPATH": tests_path},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(encode(Begin(settings=settings)))
        child.stdin.flush()
        reports = Stream(child.stdout.fileno())
        while not any(isinstance(report, Cycle) for report in reports.read()):
            continue
        child.stdout.close()
        assert child.stderr.read() == b""
    os.close(crash)
    assert child.returncode == 0
    assert closed.exists()
