"""Systems for trying accelwatch without hardware: simulated fleets, a cluster, replayed machines."""
