"""Evaluation that agent and hub share: rules in force, their incidents, who is notified.

An `evaluator` evaluates the rules: one by one on a node, in columns on a hub.
"""
