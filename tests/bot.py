"""A bot that plays a variant to its end: `python tests/bot.py http://localhost:8000 monte-carlo`.

It knows nothing of the rules: every answer lists the legal moves, and it takes the first.
"""

import json
import sys
from urllib.request import Request, urlopen


def post(url, body, token=""):
    """Post JSON and return the answer."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def play(server, variant):
    """Play one game and return it as it ended."""
    game = post(f"{server}/v1/games", {"variant": variant})
    moves, token = f"{server}/v1/games/{game['id']}/moves", game["token"]
    while game["legal_moves"]:
        first = game["legal_moves"][0]
        game = post(moves, {"moves": [{"type": first["type"], "cells": first["cells"]}]}, token)["game"]
    return game


if __name__ == "__main__":
    ended = play(*sys.argv[1:])
    print(ended["variant"], ended["status"], "with", ended["cards_left"], "cards left")
