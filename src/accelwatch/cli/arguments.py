"""The options of the one-shot path, as one table: the fast parser and typer's command come from it.

typer costs more start-up time than reading eight devices does, so `accelwatch --json` is parsed here;
help, completion and every mistake go to typer.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One option. `kind` is the Python type of one value; a `bool` option takes none."""

    name: str
    flags: tuple[str, ...]
    kind: type
    default: Any
    help: str
    many: bool = False
    metavar: str | None = None
    optional: str | None = None
    """Value that is meant when the option stands without one."""
    least: int | None = None
    """Of a number; what is less is a mistake."""
    completion: str = ""
    """What completes its value: the name of a list in `cli.completion`."""


OPTIONS: tuple[Option, ...] = (
    Option(name="json", flags=("--json",), kind=bool, default=False, help="One JSON document."),
    Option(name="format", flags=("--format",), kind=str, default=None, metavar="FORMAT",
           completion="formats",
           help="table, json, csv or prometheus; with --query-gpu: csv[,noheader][,nounits]."),
    Option(name="fields", flags=("--fields",), kind=str, default=None, metavar="A,B,C",
           completion="fields",
           help="Only these fields; 'help' lists them with unit and meaning."),
    Option(name="device", flags=("-d", "--device", "-i", "--id"), kind=str, default=(), many=True,
           metavar="SEL", completion="devices",
           help="Index, vendor:index, uuid prefix, PCI id, name or 'all'; also a,b,c."),
    Option(name="visible", flags=("--visible",), kind=bool, default=False,
           help="Only what CUDA/HIP/ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK leave."),
    Option(name="filter", flags=("-f", "--filter"), kind=str, default=None, metavar="EXPR",
           help="Only devices for which the expression is true."),
    Option(name="backend", flags=("-b", "--backend"), kind=str, default=(), many=True,
           metavar="NAME", completion="backends", help="Only these backends; also a,b,c."),
    Option(name="collect", flags=("--collect",), kind=str, default=(), many=True, metavar="GROUP",
           completion="groups",
           help="Opt-in groups to read as well; also a,b,c or 'all'."),
    Option(name="replay", flags=("--replay",), kind=str, default=None, metavar="FILE",
           help="Read a recording or scenario instead of this machine; 'demo' is shipped."),
    Option(name="root", flags=("--root",), kind=str, default="/", metavar="DIR",
           help="Where /sys, /proc and /dev are, such as a container's /host."),
    Option(name="watch", flags=("-w", "--watch", "-l", "--loop"), kind=str, default=None,
           metavar="[INTERVAL]", optional="2s",
           help="Repeat every INTERVAL (2, 2s, 500ms; at least 250ms)."),
    Option(name="count", flags=("-n", "--count"), kind=int, default=None, metavar="N",
           help="With --watch: stop after N."),
    Option(name="timeout", flags=("--timeout",), kind=str, default="2s", metavar="DURATION",
           help="Deadline of the reading, even if a driver hangs."),
    Option(name="strict", flags=("--strict",), kind=bool, default=False,
           help="Exit 6 when a device is lost or hung."),
    Option(name="output", flags=("-o", "--output"), kind=str, default="-", metavar="FILE",
           help="Write there (replaced in one step); '-' is stdout."),
    Option(name="mode", flags=("--mode",), kind=str, default=None, metavar="OCTAL",
           help="Permissions of the file of --output, such as 0644; without: 0600."),
    Option(name="pretty", flags=("--pretty",), kind=bool, default=False, help="Indented JSON."),
    Option(name="argv", flags=("--argv",), kind=bool, default=False,
           help="Arguments of processes as well; they may hold secrets."),
    Option(name="color", flags=("--color",), kind=str, default="auto", metavar="WHEN",
           completion="colors",
           help="auto, always or never."),
    Option(name="profile", flags=("--profile",), kind=str, default="default", metavar="NAME",
           completion="profiles",
           help="Of --format prometheus: minimal or default."),
    Option(name="once", flags=("-1", "--once"), kind=bool, default=False,
           help="One table, also on a terminal."),
    Option(name="query_gpu", flags=("--query-gpu",), kind=str, default=None, metavar="FIELDS",
           completion="query_fields",
           help="Answer as nvidia-smi --query-gpu does, for every vendor; 'help' lists fields."),
    Option(name="query_compute_apps", flags=("--query-compute-apps",), kind=str, default=None,
           metavar="FIELDS", completion="app_fields",
           help="As nvidia-smi's list of computing processes; 'help' lists fields."),
    Option(name="list_gpus", flags=("-L", "--list-gpus"), kind=bool, default=False,
           help="As nvidia-smi's list: one line per device and per MIG instance."),
    Option(name="query", flags=("-q", "--query"), kind=bool, default=False,
           help="With -x: nvidia-smi's XML document, for every vendor."),
    Option(name="xml", flags=("-x", "--xml-format"), kind=bool, default=False,
           help="Goes with -q."),
)  # fmt: skip

_LOOP_MS = ("-lms", "--loop-ms")
_BY_FLAG = {flag: option for option in OPTIONS for flag in option.flags}


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """What the one-shot path was asked for; one field an option of the table."""

    json: bool = False
    format: str | None = None
    fields: str | None = None
    device: tuple[str, ...] = ()
    visible: bool = False
    filter: str | None = None
    backend: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()
    replay: str | None = None
    root: str = "/"
    watch: str | None = None
    count: int | None = None
    timeout: str = "2s"
    strict: bool = False
    output: str = "-"
    mode: str | None = None
    pretty: bool = False
    argv: bool = False
    color: str = "auto"
    profile: str = "default"
    once: bool = False
    query_gpu: str | None = None
    query_compute_apps: str | None = None
    list_gpus: bool = False
    query: bool = False
    xml: bool = False

    @property
    def is_nvidia_smi_call(self) -> bool:
        """Whether one of nvidia-smi's own options was given."""
        lists = self.query_gpu is not None or self.query_compute_apps is not None
        return lists or self.list_gpus or self.query or self.xml


_OWN_LOOP = "dashboard"
"""The command whose `--loop` is without a value: it begins a recording again."""


def normalised(argv: list[str]) -> list[str]:
    """The words with the value put in where an option with an optional value stands without one.

    nvidia-smi's loop in milliseconds becomes `--watch`. A word that begins with a digit is always a
    value, so that a mistake in it is told as such.
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
        option = _BY_FLAG.get(tokens[-1])
        if option is not None and option.optional is not None and not following[:1].isdigit():
            tokens.append(option.optional)
    return tokens


def parse(argv: list[str]) -> Arguments | None:
    """Arguments of the one-shot path, or None when typer should look: help, commands, mistakes."""
    values = values_of(normalised(argv[1:] if argv[:1] == ["snapshot"] else argv), _BY_FLAG)
    return None if values is None else Arguments(**values)


def values_of(tokens: list[str], by_flag: Mapping[str, Option]) -> dict[str, Any] | None:
    """The values of options, by name; None for what typer should look at."""
    tokens = list(tokens)
    values: dict[str, Any] = {}
    while tokens:
        flag, joined, inline = tokens.pop(0).partition("=")
        option = by_flag.get(flag)
        if option is None or (joined and not flag.startswith("--")):
            return None
        if option.kind is bool:
            if joined:
                return None
            values[option.name] = True
            continue
        if not joined and not tokens:
            return None
        text = inline if joined else tokens.pop(0)
        if option.kind is int and not text.isdecimal():
            return None
        value = option.kind(text)
        values[option.name] = (*values.get(option.name, ()), value) if option.many else value
    return values


def split_list(values: tuple[str, ...]) -> tuple[str, ...]:
    """`("a,b", "c")` as `("a", "b", "c")`."""
    return tuple(entry.strip() for value in values for entry in value.split(",") if entry.strip())
