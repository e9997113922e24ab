"""Writes prometheusrule.yaml beside this file from ../prometheus/rules, for the Prometheus operator.

`python build_rules.py`; a test fails when the file, or the chart's copy of its spec, differs from what
the rules give.
"""

from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE / "prometheusrule.yaml"
# A chart reads no file outside of its own folder.
CHART_TARGET = HERE.parent / "helm" / "accelwatch" / "files" / "rules.yaml"
SOURCES = ("recording.yml", "alerts.yml", "hub_alerts.yml", "remedy_alerts.yml")
HEAD = """\
# Written by build_rules.py from ../prometheus/rules; do not edit. For the Prometheus operator.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: accelwatch
  namespace: accelwatch
  labels:
    app.kubernetes.io/name: accelwatch
spec:
  groups:
"""


def build() -> str:
    """The whole file; the rules as they stand, comments included."""
    text = HEAD
    for name in SOURCES:
        lines = (HERE.parent / "prometheus" / "rules" / name).read_text("utf-8").splitlines()
        body = lines[lines.index("groups:") + 1 :]
        text += "".join(f"  {line}\n" if line else "\n" for line in body)
    return text


def build_spec() -> str:
    """What the chart puts behind its own metadata."""
    return build()[HEAD.index("spec:") :]


if __name__ == "__main__":
    TARGET.write_text(build(), encoding="utf-8")
    CHART_TARGET.write_text(build_spec(), encoding="utf-8")
