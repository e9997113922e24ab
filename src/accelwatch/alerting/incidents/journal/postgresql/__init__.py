"""A journal in a PostgreSQL database, written by one hub at a time.

asyncpg is the extra `postgresql`: only `connection` imports it, and only where a journal is kept so.
"""
