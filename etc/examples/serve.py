#!/usr/bin/env python3
"""A small stand-in for an inference server, with the Python standard library alone.

GET /health        200 once the "model" is loaded (LOAD_SECONDS after the start)
GET /generate?n=5  n tokens as server-sent events, one each TOKEN_SECONDS
GET /              who answers: replica, revision and VERSION
GET /metrics       requests in flight and in total, as Prometheus reads them

It listens on the port that kant gives it (PORT). On SIGTERM it answers what it has begun, and ends.
"""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

STARTED = time.monotonic()
LOAD_SECONDS = float(os.environ.get("LOAD_SECONDS", "0"))
TOKEN_SECONDS = float(os.environ.get("TOKEN_SECONDS", "0.02"))
IDENTITY = {
    "replica": os.environ.get("KANT_REPLICA", "?"),
    "revision": os.environ.get("KANT_SERVICE_REVISION", "?"),
    "version": os.environ.get("VERSION", "1"),
    "pid": os.getpid(),
}

lock = threading.Lock()
in_flight = 0
total = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urlparse(self.path)
        if url.path == "/health":
            loaded = time.monotonic() - STARTED >= LOAD_SECONDS
            broken = os.environ.get("BROKEN") or os.path.exists("broken")
            return self.text(200 if loaded and not broken else 503, "loaded\n" if loaded else "loading\n")
        if url.path == "/metrics":
            return self.text(200, f"requests_in_flight {in_flight}\nrequests_total {total}\n")
        global_count(1)
        try:
            if url.path == "/generate":
                tokens = int(parse_qs(url.query).get("n", ["5"])[0])
                return self.stream(min(tokens, 10_000))
            self.text(200, json.dumps(IDENTITY) + "\n", "application/json")
        finally:
            global_count(-1)

    def text(self, status, text, kind="text/plain"):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, tokens):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for token in range(tokens):
            data = f"data: token {token} of replica {IDENTITY['replica']}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
            time.sleep(TOKEN_SECONDS)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def global_count(change):
    global in_flight, total
    with lock:
        in_flight += change
        total += max(change, 0)


class Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128


def main():
    server = Server(("0.0.0.0", int(os.environ["PORT"])), Handler)
    stop = lambda *_: threading.Thread(target=server.shutdown).start()
    signal.signal(signal.SIGTERM, stop)
    print(f"serving on port {os.environ['PORT']} as {IDENTITY}", flush=True)
    server.serve_forever()
    # Idle connections would keep their threads.
    deadline = time.monotonic() + 20
    while in_flight and time.monotonic() < deadline:
        time.sleep(0.05)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
