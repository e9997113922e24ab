"""What decoding the bytes of others raises, for readers that must outlive them."""

import msgspec

# What msgspec raises, for JSON as for MessagePack: its own error, another for text that is not UTF-8,
# another for arrays nested deeper than the interpreter goes, even in fields that nobody reads.
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
