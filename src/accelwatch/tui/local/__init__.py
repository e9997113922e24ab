"""One machine as rows and facts: devices, processes, the doctor, recordings. Pure but for sources."""
