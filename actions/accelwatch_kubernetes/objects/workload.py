"""Any object that pods belong to: its metadata, and its fields by their paths.

Kinds of workloads have little in common but the shape of an object, and the table of kinds says which
paths of each are read; so `spec` and `status` stay as the API server sent them.
"""

from functools import lru_cache

import msgspec

from accelwatch_kubernetes.objects.metadata import Metadata, unix_seconds

Fields = dict[str, object]


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One of an object's conditions."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None

    @property
    def is_true(self) -> bool:
        """Whether it is so."""
        return self.status == "True"

    @property
    def text(self) -> str:
        """Why, as its controller says it."""
        return ": ".join(filter(None, (self.reason, self.message))) or self.type


class Workload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object that pods belong to, at any distance."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = Metadata()
    spec: Fields | None = None
    status: Fields | None = None

    @property
    def group(self) -> str:
        """API group; empty for the core one."""
        return group_of(self.api_version)

    @property
    def was_read(self) -> bool:
        """Whether it is as the server sent it; else only its name is known, from who refers to it."""
        return bool(self.metadata.resource_version)

    def value(self, path: str) -> object:
        """What is at `spec.runPolicy.suspend`; None where nothing is."""
        first, _, remaining = path.partition(".")
        value: object = {"spec": self.spec, "status": self.status}.get(first)
        for name in filter(None, remaining.split(".")):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def number(self, path: str) -> int | None:
        """An integer; None where none is."""
        value = self.value(path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, path: str) -> bool:
        """Whether a flag is set."""
        return self.value(path) is True

    def text(self, path: str) -> str:
        """A text; empty where none is."""
        value = self.value(path)
        return value if isinstance(value, str) else ""

    def seconds(self, path: str) -> float | None:
        """A time in Unix seconds; None where none is."""
        return unix_seconds(self.text(path))

    def items(self, path: str) -> tuple[Fields, ...]:
        """The objects of a list; empty where none is."""
        value = self.value(path)
        return (
            tuple(entry for entry in value if isinstance(entry, dict))
            if isinstance(value, list)
            else ()
        )

    def condition(self, *types: str) -> Condition | None:
        """The first of its conditions of some types that holds."""
        for fields in self.items("status.conditions"):
            try:
                condition = msgspec.convert(fields, Condition)
            except msgspec.ValidationError:
                continue  # an object of a kind that means something else by the name
            if condition.type in types and condition.is_true:
                return condition
        return None

    def within(self, fields: object) -> "Workload":
        """The object that a template in this one makes, as far as it is known before it is made."""
        template = fields if isinstance(fields, dict) else {}
        spec = template.get("spec")
        return Workload(metadata=self.metadata, spec=spec if isinstance(spec, dict) else None)


def group_of(api_version: str) -> str:
    """The group of `batch/v1`; empty for `v1`."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""


def version_of(api_version: str) -> str:
    """The version of `batch/v1` and of `v1`."""
    return api_version.rpartition("/")[2]


_DECODER = msgspec.json.Decoder(Workload)


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=256)
def workload_of(text: str) -> Workload | None:
    """An object as JSON; None for an empty text. Raises ValueError for what is no object."""
    return _DECODER.decode(text) if text else None
