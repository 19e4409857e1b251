#!/usr/bin/env python3
"""Stand-ins for a disaggregated inference service, with the Python standard library alone.

The role of the replica says which part this is:
  router   GET /generate?n=5 asks a prefill replica, then streams n tokens from a decode replica
  prefill  GET /prefill takes PREFILL_SECONDS; 2 requests at a time, the others wait
  decode   GET /decode?n=5 streams n tokens, one each TOKEN_SECONDS; 4 requests at a time
All answer GET /health; prefill and decode answer GET /metrics with names of vLLM.

The router finds the other replicas through kant, every half second, and asks another one if a
replica is gone.
"""

import http.client
import json
import os
import random
import signal
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

SERVICE = os.environ["KANT_SERVICE"]
ROLE = os.environ["KANT_SERVICE_ROLE"]
SOCKET = os.environ.get("KANT_SOCKET", "/run/kantd/kantd.sock")
PREFILL_SECONDS = float(os.environ.get("PREFILL_SECONDS", "0.1"))
TOKEN_SECONDS = float(os.environ.get("TOKEN_SECONDS", "0.05"))
SLOTS = 2 if ROLE == "prefill" else 4


class Engine:
    """Requests that run and wait, and times to the first token."""

    def __init__(self):
        self.lock = threading.Lock()
        self.slots = threading.Semaphore(SLOTS)
        self.running = self.waiting = self.answers = 0
        self.ttft_seconds = 0.0

    def __enter__(self):
        asked = time.monotonic()
        with self.lock:
            self.waiting += 1
        self.slots.acquire()
        with self.lock:
            self.waiting -= 1
            self.running += 1
            self.answers += 1
            self.ttft_seconds += time.monotonic() - asked

    def __exit__(self, *_):
        with self.lock:
            self.running -= 1
        self.slots.release()

    def metrics(self):
        with self.lock:
            return (
                f"vllm:num_requests_running {self.running}\n"
                f"vllm:num_requests_waiting {self.waiting}\n"
                f"vllm:kv_cache_usage_perc {self.running / SLOTS}\n"
                f"vllm:time_to_first_token_seconds_sum {self.ttft_seconds}\n"
                f"vllm:time_to_first_token_seconds_count {self.answers}\n"
            )


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(5)
        self.sock.connect(SOCKET)


class Discovery(threading.Thread):
    """The addresses of ready replicas, by role. While kant does not answer, the last ones."""

    def __init__(self):
        super().__init__(daemon=True)
        self.replicas = {}

    def run(self):
        while True:
            try:
                connection = UnixConnection("localhost")
                connection.request("GET", f"/v1/services/{SERVICE}/endpoints")
                answer = connection.getresponse()
                if answer.status != 200:
                    raise OSError(answer.read().decode())
                groups = json.load(answer)
                replicas = {}
                for group in groups:
                    replicas.setdefault(group["labels"]["kant_role"], []).extend(group["targets"])
                self.replicas = replicas
            except (OSError, ValueError, http.client.HTTPException) as error:
                print(f"no answer from kant: {error}", flush=True)
            time.sleep(0.5)

    def ask(self, role, path):
        """The answer of a replica of a role; another one is asked if the first is gone."""
        replicas = list(self.replicas.get(role, []))
        random.shuffle(replicas)
        for address in replicas:
            try:
                connection = http.client.HTTPConnection(address, timeout=30)
                connection.request("GET", path)
                answer = connection.getresponse()
                if answer.status == 200:
                    return answer
            except (OSError, http.client.HTTPException):
                pass
        raise LookupError(f"no {role} replica answers")


engine = Engine()
discovery = Discovery()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urlparse(self.path)
        tokens = min(int(parse_qs(url.query).get("n", ["5"])[0]), 10_000)
        match (ROLE, url.path):
            case ("router", "/health"):
                ready = {"prefill", "decode"} <= set(discovery.replicas)
                self.text(200 if ready else 503, "ready\n" if ready else "no engines yet\n")
            case (_, "/health"):
                self.text(200, "ready\n")
            case ("router", "/generate"):
                self.route(tokens)
            case ("prefill", "/prefill"):
                with engine:
                    time.sleep(PREFILL_SECONDS)
                self.text(200, "prefilled\n")
            case ("decode", "/decode"):
                self.decode(tokens)
            case ("prefill" | "decode", "/metrics"):
                self.text(200, engine.metrics())
            case _:
                self.text(404, f"a {ROLE} replica has no {url.path}\n")

    def route(self, tokens):
        try:
            discovery.ask("prefill", "/prefill").read()
            answer = discovery.ask("decode", f"/decode?n={tokens}")
        except LookupError as error:
            return self.text(503, f"{error}\n")
        self.begin_stream()
        while piece := answer.read1():
            self.piece(piece)
        self.wfile.write(b"0\r\n\r\n")

    def decode(self, tokens):
        with engine:
            self.begin_stream()
            for token in range(tokens):
                time.sleep(TOKEN_SECONDS)
                self.piece(f"data: token {token}\n\n".encode())
            self.wfile.write(b"0\r\n\r\n")

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def piece(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def text(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


def main():
    server = Server(("0.0.0.0", int(os.environ["PORT"])), Handler)
    stop = lambda *_: threading.Thread(target=server.shutdown).start()
    signal.signal(signal.SIGTERM, stop)
    if ROLE == "router":
        discovery.start()
    print(f"{ROLE} on port {os.environ['PORT']}", flush=True)
    server.serve_forever()
    deadline = time.monotonic() + 20
    while engine.running and time.monotonic() < deadline:
        time.sleep(0.05)
    os._exit(0)


if __name__ == "__main__":
    main()
