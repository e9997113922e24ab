"""AWS Trainium and Inferentia, from what the Neuron driver shows in sysfs and what neuron-ls lists."""

from accelwatch_neuron.backend import NeuronBackend

__all__ = ["NeuronBackend"]
