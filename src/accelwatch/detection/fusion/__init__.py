"""From the evidence of channels to levels of devices, nodes and jobs."""
