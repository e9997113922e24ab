"""Our rules as alerting rules of Prometheus."""
