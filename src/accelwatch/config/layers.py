"""Defaults, file, environment and flags laid over each other; every value keeps its source."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import inspect

from accelwatch.base.names.nearest import unknown_key
from accelwatch.config.convert import Mistake, convert
from accelwatch.config.model import Settings
from accelwatch.config.reader import LocatedValue, Reader, Values, build, source_of, sources_by_key
from accelwatch.plugins.options import secret_key
from accelwatch.system.located_yaml import tree
from accelwatch.system.located_yaml.complaint import Complaint, refuse
from accelwatch.system.located_yaml.nodes import joined, scalar

PREFIX = "ACCELWATCH_"
FILE_VARIABLE = "ACCELWATCH_CONFIG_FILE"
SYSTEM_FILE = Path("/etc/accelwatch/agent.yaml")
# Variables that Kubernetes puts into every container for a service named `accelwatch-...`.
_SERVICE_LINK = re.compile(r"_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$")

Flag = str | Sequence[str] | bool | None
Shape = TypeVar("Shape", bound=msgspec.Struct)


class Effective(msgspec.Struct, Generic[Shape], frozen=True, kw_only=True):
    """The settings in force, the file they came from, and the source of each given value."""

    settings: Shape
    file: Path | None
    # Dotted key to `file:line`, variable or flag; a key that is not here has its default.
    sources: dict[str, str]
    # Whether the file gives any value.
    filled: bool = False

    def source_of(self, dotted: str) -> str:
        """Where a key was given, or the nearest section above it; the file when nothing was."""
        return source_of(self.sources, dotted, self.file)


# Reflection over all structs costs milliseconds, and each layer of settings needs it. Types do not
# change.
@cache
def leaves(shape: type[msgspec.Struct] = Settings) -> dict[str, inspect.Type]:
    """Every setting by its dotted key; of the agent, or of another struct."""
    return dict(_leaves(inspect.type_info(shape), ""))


def _leaves(shape: inspect.Type, prefix: str) -> Iterable[tuple[str, inspect.Type]]:
    assert isinstance(shape, inspect.StructType)
    for field in shape.fields:
        dotted = joined(prefix, field.encode_name)
        if isinstance(field.type, inspect.StructType):
            yield from _leaves(field.type, dotted)
        else:
            yield dotted, field.type


def variable(dotted: str) -> str:
    """Name of the environment variable of a setting."""
    return PREFIX + dotted.replace(".", "_").upper()


def flag_name(dotted: str) -> str:
    """Name of the flag of a setting, in the manner of Prometheus: `--web.listen-address`."""
    return _FLAGS.get(dotted) or "--" + dotted.replace("_", "-")


# Flags that are named otherwise: as the other commands name them, or as Prometheus does.
_FLAGS = {
    "collect.backends": "--backend",
    "collect.interval": "--interval",
    "collect.root": "--root",
    "collect.timeout": "--timeout",
    "exposition.groups": "--collect",
    "exposition.profile": "--profile",
    "web.config_file": "--web.config.file",
    "scrape.scrape_interval": "--scrape.interval",
    "prometheus.url": "--prometheus",
    "remote_write.url": "--remote-write",
}


def find_file(configured: str | None, environ: Mapping[str, str]) -> Path | None:
    """The file that counts: the given one, that of the environment, the user's, the system's."""
    if named := configured or environ.get(FILE_VARIABLE):
        return Path(named)
    home = environ.get("XDG_CONFIG_HOME") or (
        f"{environ['HOME']}/.config" if environ.get("HOME") else ""
    )
    candidates = [Path(home) / "accelwatch" / "agent.yaml"] if home else []
    return next((path for path in (*candidates, SYSTEM_FILE) if path.is_file()), None)


def effective(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Flag] | None = None,
) -> Effective[Settings]:
    """The settings in force. Raises ConfigError that names every mistake of all sources."""
    values: Values = {}
    complaints: list[Complaint] = []
    if file is not None:
        values, complaints = Reader(Settings).read(file)
        complaints += _secrets(values)
    filled = bool(values)
    environ = os.environ if environ is None else environ
    for assigned, mistakes in (_from_environment(environ), values_of_flags(flags or {})):
        values.update(assigned)
        complaints += mistakes
    refuse(complaints)
    return Effective(
        settings=build(Settings, values),
        file=file,
        sources=sources_by_key(values),
        filled=filled,
    )


def _secrets(values: Values) -> list[Complaint]:
    located = values.get("collect.options")
    if located is None:
        return []
    sources = sources_by_key(values)
    return [
        Complaint(
            source_of(sources, dotted, None), dotted, f"no secret belongs here; use {key}_file"
        )
        for backend, options in located.value.items()
        for key in (f"{backend}.{name}" for name in options if secret_key(name))
        for dotted in (f"collect.options.{key}",)
    ]


def _in_files_only(field_type: inspect.Type) -> bool:
    """Whether a setting has a form that no variable can have."""
    listed = field_type.item_type if isinstance(field_type, inspect.VarTupleType) else field_type
    return isinstance(listed, inspect.DictType | inspect.StructType)


def _from_environment(environ: Mapping[str, str]) -> tuple[Values, list[Complaint]]:
    variables = {
        variable(dotted): dotted
        for dotted, field_type in leaves().items()
        if not _in_files_only(field_type)
    }
    sections = tuple({variable(dotted.partition(".")[0]) + "_" for dotted in leaves()})
    values: Values = {}
    complaints: list[Complaint] = []
    for name, text in sorted(environ.items()):
        if name in variables:
            dotted = variables[name]
            _assign(values, complaints, dotted, leaves()[dotted], text.split(","), source=name)
        elif name.startswith(sections) and name != FILE_VARIABLE and not _SERVICE_LINK.search(name):
            complaints.append(
                Complaint(name, "", unknown_key(name, variables).replace("key", "variable"))
            )
    return values, complaints


def values_of_flags(
    flags: Mapping[str, Flag], shape: type[msgspec.Struct] = Settings
) -> tuple[Values, list[Complaint]]:
    """Values and mistakes of flags by their dotted settings; None and empty lists are not given."""
    values: Values = {}
    complaints: list[Complaint] = []
    for dotted, value in flags.items():
        if value is None or value in ((), []):
            continue
        texts = [str(value).lower()] if isinstance(value, bool) else value
        texts = [texts] if isinstance(texts, str) else list(texts)
        _assign(values, complaints, dotted, leaves(shape)[dotted], texts, source=flag_name(dotted))
    return values, complaints


def _assign(
    values: Values,
    complaints: list[Complaint],
    dotted: str,
    field_type: inspect.Type,
    texts: Sequence[str],
    *,
    source: str,
) -> None:
    listed = isinstance(field_type, inspect.VarTupleType | inspect.FrozenSetType)
    try:
        if listed:
            nodes: list[tree.Node] = [
                scalar(text.strip(), quoted=True) for text in texts if text.strip()
            ]
            node: tree.Node = tree.Sequence(tag="tag:yaml.org,2002:seq", value=nodes)
        else:
            text = ",".join(texts)
            node = scalar(
                text, quoted=not isinstance(field_type, inspect.BoolType | inspect.IntType)
            )
        values[dotted] = LocatedValue(convert(field_type, node, Path.cwd()), source)
    except Mistake as mistake:
        complaints.append(Complaint(source, "", str(mistake)))
