"""The HTTP API: routes, what they read from requests, and the problems they answer."""
