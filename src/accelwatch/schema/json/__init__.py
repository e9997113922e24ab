"""The JSON form `accelwatch/2`."""
