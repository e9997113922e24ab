"""OpenTelemetry metrics, pushed by OTLP over HTTP; loaded only by those who configure it."""
