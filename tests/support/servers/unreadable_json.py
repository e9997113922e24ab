"""What others send in place of the JSON that is expected."""

# Deeper than the interpreter goes, in a field that nobody reads.
DEEP = b'{"metadata": {}, "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
# In fields that are read: of an object, a list, a refusal.
NO_UTF8 = (
    b'{"metadata": {"name": "n\xff"}, "items": [{"metadata": {"name": "n\xff"}}], "error": "\xff"}'
)
PAGE = b"<html>welcome</html>"

UNREADABLE = {"deep": DEEP, "no UTF-8": NO_UTF8, "a page": PAGE}
