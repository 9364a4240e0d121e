"""A bad line: a proxy that hands requests on and loses some of them, or their answers."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def losing(server: str, *, answers: float, requests: float = 0.0, seed: int = 1) -> Iterator[str]:
    """Give the address of a proxy that loses these shares of answers and of requests."""
    chance = random.Random(seed)
    upstream = server.removeprefix("http://")

    class Proxy(BaseHTTPRequestHandler):
        def hand_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.close_connection = True
            if chance.random() < requests:
                return
            connection = HTTPConnection(upstream, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name not in ("Host", "Connection")}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if chance.random() < answers:
                return
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = hand_on  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()
