"""Kubernetes, by its API server: nodes are tainted, drained, fenced, released; jobs are moved."""

from accelwatch_kubernetes.action import KubernetesAction

__all__ = ["KubernetesAction"]
