#!/usr/bin/env python3
"""Puts objects on an S3 server: for demos and benchmarks (the program itself has no verb that writes).

    s3put.py [--wait SECONDS] ENDPOINT BUCKET [KEY=FILE | KEY] ...

Makes the bucket where it is missing. KEY=FILE takes the object's bytes from a file, KEY alone from standard input.
--wait goes on asking until the server answers. Credentials: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.
"""
import datetime
import hashlib
import hmac
import http.client
import os
import sys
import time
import urllib.parse


class Failure(Exception):
    pass


class S3:
    """One server, one connection, path style, Signature Version 4."""

    def __init__(self, endpoint, access=None, secret=None, region="us-east-1"):
        self.host = urllib.parse.urlsplit(endpoint).netloc
        self.access = access or os.environ["AWS_ACCESS_KEY_ID"]
        self.secret = secret or os.environ["AWS_SECRET_ACCESS_KEY"]
        self.region = region
        self.connection = http.client.HTTPConnection(self.host, timeout=60)

    def send(self, method, path, body=b"", size=None):
        """`body` is bytes, or an open file of `size` bytes; returns the status and the answer's body."""
        path = urllib.parse.quote(path, safe="/-._~")
        fixed = isinstance(body, bytes)
        digest = hashlib.sha256(body).hexdigest() if fixed else "UNSIGNED-PAYLOAD"
        headers = self.sign(method, path, digest)
        headers["Content-Length"] = str(len(body) if fixed else size)
        try:
            self.connection.request(method, path, body=body, headers=headers)
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise

    def sign(self, method, path, digest):
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        signed = {"host": self.host, "x-amz-content-sha256": digest, "x-amz-date": stamp}
        names = ";".join(sorted(signed))
        fields = "".join("%s:%s\n" % (name, signed[name]) for name in sorted(signed))
        canonical = "\n".join([method, path, "", fields, names, digest])
        scope = "/".join([stamp[:8], self.region, "s3", "aws4_request"])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + self.secret).encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.new(key, text.encode(), "sha256").hexdigest()
        signed["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
            self.access, scope, names, signature)
        return signed

    def expect(self, method, path, body=b"", size=None, accepted=(200, 204)):
        status, answer = self.send(method, path, body, size)
        if status not in accepted:
            raise Failure("%s %s: %d %s" % (method, path, status, answer[:300].decode("utf-8", "replace")))

    def make_bucket(self, bucket):
        self.expect("PUT", "/" + bucket, accepted=(200, 409))

    def put(self, bucket, key, body):
        self.expect("PUT", "/%s/%s" % (bucket, key), body)

    def put_file(self, bucket, key, path):
        with open(path, "rb") as file:
            self.expect("PUT", "/%s/%s" % (bucket, key), file, os.path.getsize(path))


def main(arguments):
    wait = 0.0
    if arguments[:1] == ["--wait"] and len(arguments) > 1:
        wait, arguments = float(arguments[1]), arguments[2:]
    if len(arguments) < 2 or arguments[0].startswith("-"):
        sys.stderr.write(__doc__)
        return 2
    endpoint, bucket, objects = arguments[0], arguments[1], arguments[2:]
    server = S3(endpoint)
    end = time.monotonic() + wait
    while True:
        try:
            server.make_bucket(bucket)
            break
        except (OSError, http.client.HTTPException, Failure) as error:
            if time.monotonic() >= end:
                sys.stderr.write("s3put.py: %s: %s\n" % (endpoint, error))
                return 1
            time.sleep(0.1)
    for item in objects:
        key, equals, path = item.partition("=")
        if equals:
            server.put_file(bucket, key, path)
        else:
            server.put(bucket, key, sys.stdin.buffer.read())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
