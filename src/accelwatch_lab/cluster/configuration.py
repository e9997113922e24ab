"""What is written into a lab's folder for its hub: `hub.yaml`, and the rules that it judges by."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

_HUB = """\
# Made by `accelwatch lab`; it goes with the lab.
targets: {{files: [{folder}/targets.json]}}
scrape: {{scrape_timeout: 2s, max_backoff: 2s}}
state: {{slow_after: 2s, stale_after: 3s, down_after: 5s}}
web: {{listen_address: [{hub}]}}
state_dir: {folder}/hub
rules: {{files: [{folder}/rules.yaml], interval: 1s}}
alerts:
  storm_wait: 1s
  sinks:
  - {{name: lab, type: webhook, options: {{url: "http://{alerts}/"}}}}
{sinks}remedy:
  ceiling: resume
  override_cooldown: 1s
  # One scenario after another takes the same nodes out.
  relapse_within: 0
  stop_file: {folder}/STOP
{nodes}  spares: {{nodes: [{spares}]}}
  budget: {{share: 50%, most: 2, min_available: 50%, small_pool: 0, per_hour: 1000, spacing: 0s}}
  data_guard: {{startup_grace: 1s, calm: 0s, late: 5s}}
  resume: {{most: 20, delays: [0s]}}
  actions:
{actions}"""
_NODES = """\
  # Several nodes on one machine: nothing but a person's word says which is which.
  nodes: {{{pairs}}}
"""


def write_configuration(
    folder: Path,
    *,
    hub: str,
    alerts: str,
    paired: Sequence[str],
    spares: Sequence[str],
    sinks: str,
    actions: str,
) -> None:
    """`hub.yaml` and `rules.yaml`.

    `hub` and `alerts` are `host:port`, `sinks` and `actions` lists in YAML; `paired`
    are nodes of which agent and scheduler have nothing in common but the name.
    """
    rules = files("accelwatch_lab.cluster").joinpath("rules.yaml").read_text("utf-8")
    (folder / "rules.yaml").write_text(rules, "utf-8")
    text = _HUB.format(
        folder=folder,
        hub=hub,
        alerts=alerts,
        nodes=_NODES.format(pairs=", ".join(f"{name}: {name}" for name in paired))
        if paired
        else "",
        spares=", ".join(spares),
        sinks=sinks,
        actions=actions,
    )
    (folder / "hub.yaml").write_text(text, "utf-8")
