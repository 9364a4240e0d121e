"""The game itself: cards, deals, rules, positions, moves, events and their hashes.

Nothing in here knows of HTTP, a database, a clock or a source of randomness. A command reads a game, asks
`apply` what a move does, and folds the answer; replay and audit fold the same events.
"""
