"""What each sink knows, and is still to know, of each incident, and when. Pure: time is given."""
