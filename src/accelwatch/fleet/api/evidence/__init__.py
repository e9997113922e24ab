"""Evidence that others post: Alertmanager's webhooks and our own documents."""
