"""The API of a Backend.AI manager: where it is, who we are to it, requests, and its release."""
