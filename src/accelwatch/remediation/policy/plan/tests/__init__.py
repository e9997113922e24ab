"""Verification by work: peers, floors and results of tests, and the tests of idle nodes and spares."""
