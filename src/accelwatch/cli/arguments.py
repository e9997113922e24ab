"""The options of `accelwatch snapshot`, which stand behind `accelwatch` alone as well."""

from typing import Annotated

import msgspec

from accelwatch.cli.parameters import option


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """What is read, of whom, and how it is printed."""

    json: Annotated[bool, option("--json", help="One JSON document.")] = False
    format: Annotated[
        str | None,
        option(
            "--format",
            metavar="FORMAT",
            completion="formats",
            help="table, json, csv or prometheus; with --query-gpu: csv[,noheader][,nounits].",
        ),
    ] = None
    fields: Annotated[
        str | None,
        option(
            "--fields",
            metavar="A,B,C",
            completion="fields",
            help="Only these fields; 'help' lists them with unit and meaning.",
        ),
    ] = None
    device: Annotated[
        tuple[str, ...],
        option(
            "-d",
            "--device",
            "-i",
            "--id",
            metavar="SEL",
            completion="devices",
            help="Index, vendor:index, uuid prefix, PCI id, name or 'all'; also a,b,c.",
        ),
    ] = ()
    visible: Annotated[
        bool,
        option(
            "--visible",
            help="Only devices that CUDA/HIP/ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK select.",
        ),
    ] = False
    filter: Annotated[
        str | None,
        option(
            "-f",
            "--filter",
            metavar="EXPR",
            help="Only devices for which the expression is true.",
        ),
    ] = None
    backend: Annotated[
        tuple[str, ...],
        option(
            "-b",
            "--backend",
            metavar="NAME",
            completion="backends",
            help="Only these backends; also a,b,c.",
        ),
    ] = ()
    collect: Annotated[
        tuple[str, ...],
        option(
            "--collect",
            metavar="GROUP",
            completion="groups",
            help="Opt-in groups to read as well; also a,b,c or 'all'.",
        ),
    ] = ()
    replay: Annotated[
        str | None,
        option(
            "--replay",
            metavar="FILE",
            help="Read a recording or scenario instead of this machine; 'demo' is shipped.",
        ),
    ] = None
    root: Annotated[
        str,
        option(
            "--root",
            metavar="DIR",
            help="Where /sys, /proc and /dev are, such as a container's /host.",
        ),
    ] = "/"
    watch: Annotated[
        str | None,
        option(
            "-w",
            "--watch",
            "-l",
            "--loop",
            metavar="[INTERVAL]",
            help="Repeat every INTERVAL (2, 2s, 500ms; at least 250ms).",
        ),
    ] = None
    count: Annotated[
        int | None, option("-n", "--count", metavar="N", help="With --watch: stop after N.")
    ] = None
    timeout: Annotated[
        str,
        option(
            "--timeout", metavar="DURATION", help="Deadline of the reading, even if a driver hangs."
        ),
    ] = "2s"
    strict: Annotated[bool, option("--strict", help="Exit 6 when a device is lost or hung.")] = (
        False
    )
    output: Annotated[
        str,
        option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write to FILE, replaced in one step; '-' is stdout.",
        ),
    ] = "-"
    mode: Annotated[
        str | None,
        option(
            "--mode",
            metavar="OCTAL",
            help="Permissions of the file of --output, such as 0644; default: 0600.",
        ),
    ] = None
    pretty: Annotated[bool, option("--pretty", help="Indented JSON.")] = False
    argv: Annotated[
        bool, option("--argv", help="Include the arguments of processes; they may contain secrets.")
    ] = False
    color: Annotated[
        str,
        option("--color", metavar="WHEN", completion="colors", help="auto, always or never."),
    ] = "auto"
    profile: Annotated[
        str,
        option(
            "--profile",
            metavar="NAME",
            completion="profiles",
            help="With --format prometheus: minimal or default.",
        ),
    ] = "default"
    once: Annotated[bool, option("-1", "--once", help="One table, also on a terminal.")] = False
    query_gpu: Annotated[
        str | None,
        option(
            "--query-gpu",
            metavar="FIELDS",
            completion="query_fields",
            help="Answer as nvidia-smi --query-gpu does, for every vendor; 'help' lists fields.",
        ),
    ] = None
    query_compute_apps: Annotated[
        str | None,
        option(
            "--query-compute-apps",
            metavar="FIELDS",
            completion="app_fields",
            help="As nvidia-smi's list of computing processes; 'help' lists fields.",
        ),
    ] = None
    list_gpus: Annotated[
        bool,
        option(
            "-L",
            "--list-gpus",
            help="As nvidia-smi's list: one line per device and per MIG instance.",
        ),
    ] = False
    query: Annotated[
        bool, option("-q", "--query", help="With -x: nvidia-smi's XML document, for every vendor.")
    ] = False
    xml: Annotated[bool, option("-x", "--xml-format", help="With -q: XML.")] = False

    @property
    def is_nvidia_smi_call(self) -> bool:
        """Whether one of nvidia-smi's own options was given."""
        lists = self.query_gpu is not None or self.query_compute_apps is not None
        return lists or self.list_gpus or self.query or self.xml


_WATCH = frozenset({"-w", "--watch", "-l", "--loop"})
_DEFAULT_INTERVAL = "2s"
_LOOP_MS = ("-lms", "--loop-ms")
# The command whose `--loop` is without a value: it begins a recording again.
_OWN_LOOP = "dashboard"


def normalised(argv: list[str]) -> list[str]:
    """The words with an interval put in where `--watch` stands without one.

    nvidia-smi's loop in milliseconds becomes `--watch`. A word that begins with a digit is always a
    value, so that a mistake in it is reported as such.
    """
    if argv[:1] == [_OWN_LOOP]:
        return argv
    tokens: list[str] = []
    for position, token in enumerate(argv):
        following = argv[position + 1] if position + 1 < len(argv) else ""
        if position and argv[position - 1] in _LOOP_MS and token.isdecimal():
            tokens.append(f"{token}ms")
            continue
        tokens.append("--watch" if token in _LOOP_MS else token)
        if tokens[-1] in _WATCH and not following[:1].isdigit():
            tokens.append(_DEFAULT_INTERVAL)
    return tokens


def split_list(values: tuple[str, ...]) -> tuple[str, ...]:
    """`("a,b", "c")` as `("a", "b", "c")`."""
    return tuple(entry.strip() for value in values for entry in value.split(",") if entry.strip())
