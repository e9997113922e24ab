"""Links by which somebody without a login approves or denies one plan, once.

`secret` keeps the key, `links` signs and reads them, `used` remembers what was used, `asking` says what
people are asked about.
"""
