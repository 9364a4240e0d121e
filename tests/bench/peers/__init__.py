"""Our service beside boardgame.io's server and the floor, on the same job: `python -m tests.bench.peers`."""
