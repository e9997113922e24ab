"""The commands `accelwatch simulate ...`."""
