"""Metrics of an agent: the scraped page, the push over OTLP, what the server counts about itself."""
