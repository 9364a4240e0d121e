"""Check a secret deal by hand: `curl -s SERVER/v1/deals/ID | python3 check_deal.py COMMITMENT`.

COMMITMENT is the one you were given before the first move. Needs nothing but Python.
"""

import hashlib
import hmac
import json
import sys

deal = json.load(sys.stdin)
seed = bytes.fromhex(deal["seed"])

# The server was bound to the seed: its hash is the commitment that was published first.
if hashlib.sha256(b"montecarlo/commitment/v1:" + seed).hexdigest() != sys.argv[1]:
    sys.exit("unfair: the server was bound to another seed")

# The seed and your part make a key, and the key makes a stream of numbers below 2^32.
key = hmac.digest(seed, b"montecarlo/deal/v1:" + deal["client_seed"].encode(), "sha256")
stream = hashlib.shake_256(key).digest(8192)
numbers = iter([int.from_bytes(stream[i : i + 4], "big") for i in range(0, len(stream), 4)])

# The pack in order, deck by deck, shuffled from its end (Fisher-Yates); numbers that would favour some cards are dropped.
pack = [rank + suit for _ in range(deal["decks"]) for suit in "CDHS" for rank in deal["ranks"]]
for i in range(len(pack) - 1, 0, -1):
    fair = 2**32 // (i + 1) * (i + 1)
    j = next(number for number in numbers if number < fair) % (i + 1)
    pack[i], pack[j] = pack[j], pack[i]

if " ".join(pack) != deal["cards"]:
    sys.exit("unfair: the cards are not those of the seed")
print("fair:", " ".join(pack))
