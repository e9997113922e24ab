#!/bin/sh
# Builds the Debian packages, installs them on this machine, tries them, and removes them without a trace.
# Needs root or sudo, and the system's interpreter of the version that builds. Says so where it cannot.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
if ! dpkg -s "python$version" >/dev/null 2>&1 || dpkg -s accelwatch >/dev/null 2>&1 || ! as_root true; then
    echo "packages were not tried: python$version of the system or root is missing, or accelwatch is installed" >&2
    exit 0
fi
out=build/packages
rm -rf "$out"
"$python" distribution/build_packages.py --format deb --out "$out"
as_root dpkg -i "$out"/*.deb
/usr/bin/accelwatch --version
/usr/bin/accelwatch config check /etc/accelwatch/agent.yaml
/usr/bin/accelwatch config check --hub /etc/accelwatch/hub.yaml
systemd-analyze verify /usr/lib/systemd/system/accelwatch-agent.service /usr/lib/systemd/system/accelwatch-hub.service
code=0
/usr/bin/accelwatch --once >/dev/null || code=$?
[ "$code" = 0 ] || [ "$code" = 3 ]  # 3: a machine without accelerators
as_root dpkg -P accelwatch-agent accelwatch-hub accelwatch
[ ! -e /usr/lib/accelwatch ] && [ ! -e /etc/accelwatch ]
echo "packages were installed, tried and removed"
