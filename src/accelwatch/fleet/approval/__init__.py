"""Links by which somebody without a login approves or denies one plan, once.

`secret` keeps the key, `links` signs and reads them, `used` remembers the used ones, `approval_requests`
lists the requests for approval.
"""
