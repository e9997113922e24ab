"""A stand-in of the API of Backend.AI's manager, for tests: composed from what real managers answered.

What it answers is that of the release it is started with, seen on 26.9.6 and 26.1.0.
"""
