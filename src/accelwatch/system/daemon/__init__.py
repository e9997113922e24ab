"""Running as a service: start and stop signals, the service manager, logs."""
