"""The manager's other port: its http_sd page; and the pages of agents' metrics, below /agents."""

from typing import Any

from aiohttp import web

from accelwatch_lab.cluster.backendai.api_server.manager import Manager

_DISCOVERY = "/metrics/service_discovery"
# A device of each slot as the agents' exporter shows it: bytes, exponents of three digits.
_MEMORY = (
    'backendai_device_utilization{{agent_id="{agent}",device_id="{device}"'
    ',device_metric_name="cuda_mem",value_type="{kind}"}} {value}'
)
_CAPACITY = "8.589934592e+010"
_CURRENT = "8.0038330767e+010"


class Internal:
    """Answers without authentication."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        # Where it is served itself.
        self.address = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """A page."""
        if request.path == _DISCOVERY:
            return web.json_response(self._targets())
        folder, _, name = request.path.rpartition("/")
        if folder == "/agents" and name in self._manager.agents.rows:
            return web.Response(text=self._metrics(name))
        return web.Response(status=404)

    def _targets(self) -> list[dict[str, Any]]:
        """One target per address; agents of the stand-in all have the manager's, with another path."""
        version = self._manager.release.text
        manager = {"service_group": "manager", "display_name": "manager-lab", "version": version}
        targets = [{"targets": [self.address], "labels": manager}]
        for name in self._manager.agents.rows:
            labels = {
                "service_group": "agent",
                "display_name": f"agent-{name}",
                "version": version,
                "__metrics_path__": f"/agents/{name}",
            }
            targets.append({"targets": [self.address], "labels": labels})
        return targets

    def _metrics(self, name: str) -> str:
        count = self._manager.agents.rows[name].slots.get("cuda.device", 0)
        lines = ["# TYPE backendai_device_utilization gauge"]
        for number in range(count):
            device = f"GPU-{number:08d}"
            for kind, value in (("current", _CURRENT), ("capacity", _CAPACITY)):
                lines.append(_MEMORY.format(agent=name, device=device, kind=kind, value=value))
        return "\n".join([*lines, ""])
