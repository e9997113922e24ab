"""What faults cost a large training job, simulated: times to recover, spares, checkpoint interval."""
