"""Real agents and hubs as processes."""

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path


class AgentProcess:
    """A running agent, or a hub, on a port of its own; its configuration is in a folder of the test."""

    def __init__(
        self,
        folder: Path,
        config: str,
        environ: Mapping[str, str],
        *,
        command: str = "agent",
        web_config: str = "",
    ) -> None:
        """`web_config` is a file of TLS and passwords; its pages are then not for `get`."""
        self.folder, self.config = folder, config
        self.file = folder / f"{command}.yaml"
        protected = f", config_file: '{web_config}'" if web_config else ""
        web = f'web: {{listen_address: "127.0.0.1:0"{protected}}}\n'
        self.file.write_text(config if "web:" in config else f"{config}\n{web}")
        self.log = folder / f"{command}.log"
        inherited = {key: value for key, value in os.environ.items() if "ACCELWATCH" not in key}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "accelwatch", command, f"--config.file={self.file}"],
                # Root's own state folder of this machine is before XDG_STATE_HOME.
                env={**inherited, "STATE_DIRECTORY": str(folder / "state"), **environ},
                stdout=log,
                stderr=log,
            )

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Return as soon as it is true; the limit only ends a test that never would."""
        pause = threading.Event()
        for _ in range(1200):
            if condition():
                return
            assert self.process.poll() is None, self.log_text()
            pause.wait(0.05)
        raise AssertionError(self.log_text())

    def log_text(self) -> str:
        """Its log."""
        return self.log.read_text()

    @property
    def address(self) -> str:
        """Host and port; empty until it listens."""
        found = re.search(r"listening address=(127[\d.:]+)", self.log_text())
        return found[1] if found else ""

    def get(self, path: str) -> str:
        """A page."""
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def status(self, path: str) -> int:
        """The code of an answer."""
        try:
            self.get(path)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        return 200

    def ready(self) -> bool:
        """Whether its first readings are complete."""
        return bool(self.address) and self.status("/-/ready") == 200

    def end(self, number: signal.Signals) -> int:
        """Its exit code after a signal."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def kill(self) -> None:
        """End it, however it is."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
