"""nvidia-smi's dialect for every vendor: `--query-gpu`, `--query-compute-apps`, `-L` and `-q -x`."""

from accelwatch_nvidia_smi.document import document, document_groups
from accelwatch_nvidia_smi.fields import needed_groups, parse_format, parse_names, query_fields
from accelwatch_nvidia_smi.machine import Machine, machine_of, numbered
from accelwatch_nvidia_smi.tables import app_fields, compute_apps, list_gpus, query_gpu

__all__ = [
    "Machine",
    "app_fields",
    "compute_apps",
    "document",
    "document_groups",
    "list_gpus",
    "machine_of",
    "needed_groups",
    "numbered",
    "parse_format",
    "parse_names",
    "query_fields",
    "query_gpu",
]
