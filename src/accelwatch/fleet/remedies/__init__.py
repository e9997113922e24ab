"""What a hub does about incidents: its fleet and its rules in the words of `accelwatch.remediation`.

`node_observations` reads the state of nodes, `runner` sends that and incidents to the engine.
"""
