"""The published contract, held by tools that others made: generators of clients, linters, a fuzzer."""
