"""A cluster on this machine, for trying what a hub does: nothing outside of one folder is touched.

`processes` begins and ends what runs, `slurm` is a real Slurm on loopback.
"""
