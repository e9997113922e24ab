"""What an agent and a hub share of judging: rules in force, the incidents they become, who is told.

How rules are worked out is another's (`evaluator`): one by one on a node, in columns on a hub.
"""
