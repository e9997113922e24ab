"""The incidents of a fleet and what is done about them, as rows and facts."""
