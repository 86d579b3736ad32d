"""An S3 server for one bucket, which can be told to change objects, to die, to refuse, to fall silent, to throttle.

    server.py [PORT]      prints its port; commands are lines of JSON on standard input, each is answered by a line

The commands: {"put": [[key, version, size], ...]}, {"delete": [key, ...]}, {"mode": "up" | "refuse" | "silent" |
"busy"}, {"faults": {"error": p, "reset": p, "cut": p, "delay": seconds, "rate": bytes a second}}, {"counts": true}.
It ends with its standard input.
"""
import base64
import bisect
import email.utils
import json
import os
import random
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from benchmark.lister import HEAD, NAMESPACE, Bucket as Pages  # noqa: E402
from proving import content  # noqa: E402

BUCKET = "proof"
RANGE = re.compile(r"bytes=(\d*)-(\d*)$")


class Bucket(Pages):
    """The objects as they are now; a change is there for all requests that come after it, and for none before."""

    def __init__(self):
        self.lock = threading.Lock()
        self.known = {}
        self.keys, self.objects = [], []

    def put(self, key, version, size):
        entry = (key, time.time(), size, content.etag(key, version, size), version)
        with self.lock:
            self.known[key] = entry
            index = bisect.bisect_left(self.keys, key)
            if index < len(self.keys) and self.keys[index] == key:
                self.objects[index] = entry
            else:
                self.keys.insert(index, key)
                self.objects.insert(index, entry)

    def delete(self, key):
        with self.lock:
            if self.known.pop(key, None):
                index = bisect.bisect_left(self.keys, key)
                del self.keys[index], self.objects[index]

    def get(self, key):
        with self.lock:
            return self.known.get(key)


def quoted(text):
    return urllib.parse.quote(text, safe="/")


def listing(bucket, query):
    def value(field):
        return query.get(field, [""])[0].encode("utf-8", "surrogateescape")

    token = base64.urlsafe_b64decode(value("continuation-token"))
    limit = min(int(value("max-keys") or 1000), 1000)
    prefix, delimiter = value("prefix"), value("delimiter")
    with bucket.lock:
        entries, more = bucket.page(prefix, delimiter, token or value("start-after"), bool(token), limit)
    coded = value("encoding-type") == b"url"

    def text(key):
        return quoted(key) if coded else escape(key.decode("utf-8", "surrogateescape"))

    parts = [HEAD, "<ListBucketResult %s><Name>%s</Name><Prefix>%s</Prefix><Delimiter>%s</Delimiter><MaxKeys>%d</MaxKeys>"
             % (NAMESPACE, BUCKET, text(prefix), text(delimiter), limit),
             "<EncodingType>url</EncodingType>" if coded else "",
             "<KeyCount>%d</KeyCount><IsTruncated>%s</IsTruncated>" % (len(entries), "true" if more else "false")]
    if more and entries:
        last = entries[-1] if isinstance(entries[-1], bytes) else entries[-1][0]
        parts.append("<NextContinuationToken>%s</NextContinuationToken>" % base64.urlsafe_b64encode(last).decode())
    for entry in entries:
        if isinstance(entry, bytes):
            parts.append("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % text(entry))
        else:
            parts.append("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>&quot;%s&quot;</ETag><Size>%d</Size>"
                         "<StorageClass>STANDARD</StorageClass></Contents>" % (
                             text(entry[0]), time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(entry[1])), entry[3],
                             entry[2]))
    parts.append("</ListBucketResult>")
    return "".join(parts).encode("utf-8", "surrogateescape")


def failure(code):
    return (HEAD + "<Error><Code>%s</Code><Message>As told.</Message></Error>" % code).encode()


class Broken(Exception):
    """The connection is to end without a farewell."""


class Server:
    def __init__(self, port):
        self.bucket = Bucket()
        self.port = port
        self.mode = "up"
        self.faults = {}
        # How many answers in a row were spoilt, by target.
        self.spoilt = {}
        self.lock = threading.Lock()
        self.counts = {"get": 0, "head": 0, "list": 0, "notModified": 0, "failed": 0, "bytes": 0, "refused": 0}
        self.connections = set()
        self.random = random.Random(os.getpid())
        self.listener = None
        self.listen()

    def listen(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(1024)
        self.port = listener.getsockname()[1]
        self.listener = listener
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if listener is not self.listener:
                connection.close()
                continue
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections.add(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def change_mode(self, mode):
        before, self.mode = self.mode, mode
        if mode == "refuse" and self.listener:
            listener, self.listener = self.listener, None
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        elif mode != "refuse" and not self.listener:
            self.listen()
        if mode == "refuse" or before == "silent":
            with self.lock:
                for connection in list(self.connections):
                    reset(connection)

    def serve(self, connection):
        try:
            reader = connection.makefile("rb", 65536)
            while self.answer(connection, reader):
                pass
        except (OSError, Broken, ValueError):
            reset(connection)
        finally:
            with self.lock:
                self.connections.discard(connection)
            connection.close()

    def strikes(self, fault, target):
        """Never a third time in a row: who has been told to ask three times would be right to give up."""
        if self.random.random() >= self.faults.get(fault, 0) or self.spoilt.get(target, 0) >= 2:
            return False
        self.spoilt[target] = self.spoilt.get(target, 0) + 1
        return True

    def wait_while_silent(self):
        while self.mode == "silent":
            time.sleep(0.05)

    def answer(self, connection, reader):
        line = reader.readline(65536)
        if not line:
            return False
        method, target, _ = line.decode("latin-1").split(" ", 2)
        headers = {}
        while (line := reader.readline(65536)) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        path, _, query = target.partition("?")
        query = urllib.parse.parse_qs(query, keep_blank_values=True, errors="surrogateescape")
        _, bucket, key = urllib.parse.unquote_to_bytes(path).split(b"/", 2) if path.count("/") > 1 else (
            b"", urllib.parse.unquote_to_bytes(path)[1:], b"")
        kind = "head" if method == "HEAD" else "get" if key else "list"
        with self.lock:
            self.counts[kind] += 1
        self.wait_while_silent()
        if self.mode == "refuse":
            raise Broken
        if delay := self.faults.get("delay"):
            time.sleep(self.random.random() * delay)
        if self.mode == "busy":
            return self.send(connection, method, 503, failure("SlowDown"), {"Retry-After": "1"})
        if self.strikes("error", target):
            return self.send(connection, method, 500, failure("InternalError"))
        if self.strikes("reset", target):
            raise Broken
        cut = self.strikes("cut", target)
        if not cut:
            self.spoilt.pop(target, None)
        if bucket != BUCKET.encode():
            return self.send(connection, method, 404, failure("NoSuchBucket"))
        if not key:
            return self.answer_bucket(connection, method, query, cut)
        return self.answer_object(connection, method, key, headers, cut)

    def answer_bucket(self, connection, method, query, cut):
        if "list-type" in query:
            return self.send(connection, method, 200, listing(self.bucket, query), cut=cut)
        if "location" in query:
            return self.send(connection, method, 200, (HEAD + "<LocationConstraint %s/>" % NAMESPACE).encode())
        if set(query) - {"prefix", "max-keys"}:
            return self.send(connection, method, 501, failure("NotImplemented"))
        return self.send(connection, method, 200, b"")

    def answer_object(self, connection, method, key, headers, cut):
        entry = self.bucket.get(key)
        if entry is None:
            return self.send(connection, method, 404, failure("NoSuchKey"))
        _, modified, size, tag, version = entry
        fields = {"ETag": '"%s"' % tag, "Last-Modified": email.utils.formatdate(int(modified), usegmt=True),
                  "Accept-Ranges": "bytes", "Content-Type": "binary/octet-stream"}
        if headers.get("if-none-match", "").strip('"') == tag:
            return self.send(connection, method, 304, b"", fields)
        if "if-match" in headers and headers["if-match"].strip('"') != tag:
            return self.send(connection, method, 412, failure("PreconditionFailed"))
        body = memoryview(content.body(key, version, size))
        asked = RANGE.match(headers.get("range", ""))
        if not asked:
            return self.send(connection, method, 200, body, fields, cut)
        first = int(asked[1]) if asked[1] else max(0, size - int(asked[2]))
        last = min(int(asked[2]), size - 1) if asked[1] and asked[2] else size - 1
        if first > last:
            return self.send(connection, method, 416, failure("InvalidRange"), {"Content-Range": "bytes */%d" % size})
        fields["Content-Range"] = "bytes %d-%d/%d" % (first, last, size)
        return self.send(connection, method, 206, body[first:last + 1], fields, cut)

    def send(self, connection, method, status, body, fields=None, cut=False):
        lines = ["HTTP/1.1 %d As told" % status, "Content-Length: %d" % len(body) if status != 304 else "",
                 "Date: " + email.utils.formatdate(usegmt=True), "x-amz-request-id: 1"]
        lines += ["%s: %s" % item for item in (fields or {}).items()]
        head = ("\r\n".join(line for line in lines if line) + "\r\n\r\n").encode()
        with self.lock:
            if status == 304:
                self.counts["notModified"] += 1
            elif status >= 300:
                self.counts["failed"] += 1
        if method == "HEAD" or status == 304:
            connection.sendall(head)
            return True
        sent = body[:self.random.randrange(len(body))] if body and cut else body
        rate = self.faults.get("rate")
        if len(sent) < 65536 and not rate:
            connection.sendall(head + bytes(sent))
        else:
            connection.sendall(head)
            for start in range(0, len(sent), 65536):
                self.wait_while_silent()
                if self.mode == "refuse":
                    raise Broken
                connection.sendall(sent[start:start + 65536])
                if rate:
                    time.sleep(min(65536, len(sent) - start) / rate)
        with self.lock:
            self.counts["bytes"] += len(sent)
        if cut:
            raise Broken
        return True


def reset(connection):
    """Ends a connection as one whose other end has died."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def main():
    server = Server(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(server.port, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        for key, version, size in command.get("put", []):
            server.bucket.put(key.encode(), version, size)
        for key in command.get("delete", []):
            server.bucket.delete(key.encode())
        if "faults" in command:
            server.faults = command["faults"]
        if "mode" in command:
            server.change_mode(command["mode"])
        with server.lock:
            print(json.dumps(server.counts), flush=True)


if __name__ == "__main__":
    main()
