"""The tests inside rule files: small worlds that rules are played on."""
