"""What a notification says: of an incident, of a person's call, of this process itself."""
