"""Writes the stand-in's types.json of a real server's OpenAPI: `build_types.py OPENAPI_V2_JSON`.

The document is what `GET /openapi/v2` of kube-apiserver answers.
"""

import json
import sys
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
OUT = (
    Path(__file__).parents[3]
    / "src/accelwatch_lab/cluster/kubernetes/api_server/objects/types.json"
)
ROOTS = {
    "core.v1": "Node Pod Namespace Event ConfigMap Secret Service ServiceAccount",
    "apps.v1": "ReplicaSet Deployment StatefulSet DaemonSet",
    "batch.v1": "Job",
    "coordination.v1": "Lease",
    "discovery.v1": "EndpointSlice",
    "policy.v1": "PodDisruptionBudget Eviction",
    "rbac.v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "resource.v1": "DeviceTaintRule ResourceSlice ResourceClaim",
}
PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.")
# Numbers or text: no type of JSON.
EITHER = ("Quantity", "IntOrString")


def short(name: str) -> str:
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


class Types:
    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions
        self.found: dict[str, dict[str, str]] = {}

    def add(self, name: str) -> None:
        if short(name) not in self.found:
            self.found[short(name)] = {}
            fields = self._definitions[name].get("properties", {})
            self.found[short(name)] = {
                key: self._type(schema) for key, schema in sorted(fields.items())
            }

    def _type(self, schema: Schema) -> str:
        if "$ref" in schema:
            return self._reference(schema["$ref"].rsplit("/", 1)[1])
        match schema.get("type"):
            case "array":
                item = f"[{self._type(schema['items'])}]"
                merged = "merge" in schema.get("x-kubernetes-patch-strategy", "")
                return (
                    f"{item}@{schema.get('x-kubernetes-patch-merge-key', '')}" if merged else item
                )
            case "object" if "additionalProperties" in schema:
                return f"{{{self._type(schema['additionalProperties'])}}}"
            case "string" | "integer" | "number" | "boolean" as scalar:
                return str(scalar)
            case _:
                return "any"

    def _reference(self, name: str) -> str:
        definition = self._definitions[name]
        if definition.get("properties"):
            self.add(name)
            return short(name)
        plain = definition.get("type") == "string" and not name.endswith(EITHER)
        return "string" if plain else "any"


def main() -> None:
    types = Types(json.loads(Path(sys.argv[1]).read_text())["definitions"])
    for package, kinds in ROOTS.items():
        for kind in kinds.split():
            types.add(f"io.k8s.api.{package}.{kind}")
    lines = [f'"{name}": {json.dumps(fields)}' for name, fields in sorted(types.found.items())]
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
