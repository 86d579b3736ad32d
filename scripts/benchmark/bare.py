"""What no mount can beat: one connection that asks the server for the same bytes, and nothing else."""
import concurrent.futures
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.parse

from .plane import BUCKET


class Connection:
    """A kept connection, without a signature and without a parser of documents."""

    def __init__(self, endpoint, certificate):
        parts = urllib.parse.urlsplit(endpoint)
        self.host = parts.netloc
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme == "https":
            self.socket = ssl.create_default_context(cafile=certificate).wrap_socket(self.socket,
                                                                                     server_hostname=parts.hostname)
        self.buffer = bytearray(1 << 20)

    def get(self, path, first=None, last=None, keep=False):
        """Asks for an object or for bytes first..last of it; returns how many came, or with `keep` the bytes."""
        asked = "Range: bytes=%d-%d\r\n" % (first, last) if first is not None else ""
        self.socket.sendall(("GET /%s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (BUCKET, path, self.host, asked)).encode())
        head = b""
        while (end := head.find(b"\r\n\r\n")) < 0:
            more = self.socket.recv(65536)
            if not more:
                raise RuntimeError("the server closed the connection")
            head += more
        if head[9:10] != b"2":
            raise RuntimeError("GET %s: %s" % (path, head[:40].decode("latin-1")))
        size = int(re.search(rb"(?i)\r\nContent-Length: *(\d+)", head[:end]).group(1))
        body = [head[end + 4:]]
        got = len(body[0])
        while got < size:
            count = self.socket.recv_into(self.buffer)
            if count == 0:
                raise RuntimeError("the server closed the connection")
            got += count
            if keep:
                body.append(bytes(memoryview(self.buffer)[:count]))
        return b"".join(body) if keep else got

    def pages(self, prefix):
        """Reads all pages of a flat listing; returns how many."""
        token, count = b"", 0
        while True:
            after = "&continuation-token=" + urllib.parse.quote(token, safe="") if token else ""
            page = self.get("?list-type=2%s&prefix=%s" % (after, urllib.parse.quote(prefix, safe="")), keep=True)
            count += 1
            next_token = re.search(rb"<NextContinuationToken>([^<]*)<", page[:2000])
            if not next_token:
                return count
            token = next_token.group(1)

    def close(self):
        self.socket.close()


class Bare:
    """The contestant that is a bare client; it takes part where it has something to say."""
    name = "bare"

    def __init__(self, endpoint, certificate):
        self.connection = Connection(endpoint, certificate)

    def stop(self):
        self.connection.close()


def stream_speed(endpoint, certificate, key, size, streams):
    """MB/s of ranged reads by so many connections at once."""
    part = size // streams

    def stream(index):
        connection = Connection(endpoint, certificate)
        count = connection.get("/" + key, index * part, (index + 1) * part - 1)
        connection.close()
        return count

    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        got = sum(pool.map(stream, range(streams)))
    return got / (time.perf_counter() - start) / 1e6


def small_speed(endpoint, key):
    """GETs a second of one small object by 16 connections, by wrk; nothing where it is not installed."""
    if not shutil.which("wrk"):
        return None
    out = subprocess.run(["wrk", "-t1", "-c16", "-d1s", "%s/%s/%s" % (endpoint, BUCKET, key)], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def page_speed(endpoint, certificate, prefix):
    """Pages a second of a flat listing, one after the other, once they are made."""
    connection = Connection(endpoint, certificate)
    connection.pages(prefix)
    start = time.perf_counter()
    count = connection.pages(prefix)
    connection.close()
    return count / (time.perf_counter() - start)
