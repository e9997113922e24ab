"""Silences, maintenance and closing by hand over HTTP: request bodies, documents, pages."""
