"""Who is let in: the web configuration, TLS, passwords, roles."""
