"""Answers the bucket requests of the data plane: ListObjects (1 and 2), HeadBucket, GetBucketLocation, ListBuckets.

    lister.py ROOT        serves the directories of ROOT as buckets, on a free port of loopback, which it prints

The objects are the files below ROOT/BUCKET as they were at the start: nothing may change while it runs. ETags are those
that nginx makes of a file: mtime and size in hexadecimal.
"""
import base64
import bisect
import http.server
import os
import sys
import time
import urllib.parse
from xml.sax.saxutils import escape

NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def objects_below(top):
    """(key, mtime, size) of each file, in the order of S3: that of the keys' bytes."""
    found = []
    pending = [(b"", os.fsencode(top))]
    while pending:
        prefix, directory = pending.pop()
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append((prefix + entry.name + b"/", entry.path))
                else:
                    status = entry.stat()
                    found.append((prefix + entry.name, int(status.st_mtime), status.st_size))
    return sorted(found)


def end_of(prefix):
    """The least key that is greater than all that begin with the prefix."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


class Bucket:
    """The sorted keys of a bucket, and pages of them."""

    def __init__(self, top):
        self.objects = objects_below(top)
        self.keys = [entry[0] for entry in self.objects]

    def page(self, prefix, delimiter, after, skips, limit):
        """Up to `limit` entries after a key: objects, and bytes for what is common to the keys with a delimiter.
        With `skips`, an `after` that ends in the delimiter stands for all keys that begin with it."""
        index = bisect.bisect_left(self.keys, prefix)
        if after:
            whole = skips and delimiter and after.endswith(delimiter)
            index = max(index, bisect.bisect_left(self.keys, end_of(after)) if whole
                        else bisect.bisect_right(self.keys, after))
        entries = []
        while index < len(self.keys) and self.keys[index].startswith(prefix):
            if len(entries) == limit:
                return entries, True
            cut = self.keys[index].find(delimiter, len(prefix)) if delimiter else -1
            if cut < 0:
                entries.append(self.objects[index])
                index += 1
            else:
                common = self.keys[index][:cut + len(delimiter)]
                entries.append(common)
                index = bisect.bisect_left(self.keys, end_of(common), index)
        return entries, False


def listing(bucket, name, query):
    """The answer to ListObjects, which is version 2 with list-type=2."""
    def value(field):
        return query.get(field, [""])[0].encode("utf-8", "surrogateescape")

    second = value("list-type") == b"2"
    token = base64.urlsafe_b64decode(value("continuation-token"))
    after = token or value("start-after" if second else "marker")
    limit = min(int(value("max-keys") or 1000), 1000)
    prefix, delimiter = value("prefix"), value("delimiter")
    entries, more = bucket.page(prefix, delimiter, after, bool(token) or not second, limit)
    coded = value("encoding-type") == b"url"

    def text(key):
        return urllib.parse.quote(key, safe="/") if coded else escape(key.decode("utf-8", "surrogateescape"))

    parts = [HEAD, "<ListBucketResult %s><Name>%s</Name><Prefix>%s</Prefix><Delimiter>%s</Delimiter>" % (
        NAMESPACE, name, text(prefix), text(delimiter)), "<MaxKeys>%d</MaxKeys>" % limit]
    if coded:
        parts.append("<EncodingType>url</EncodingType>")
    if second:
        parts.append("<KeyCount>%d</KeyCount>" % len(entries))
    parts.append("<IsTruncated>%s</IsTruncated>" % ("true" if more else "false"))
    if more and entries:
        last = entries[-1] if isinstance(entries[-1], bytes) else entries[-1][0]
        parts.append("<NextContinuationToken>%s</NextContinuationToken>" % base64.urlsafe_b64encode(last).decode()
                     if second else "<NextMarker>%s</NextMarker>" % text(last))
    for entry in entries:
        if isinstance(entry, bytes):
            parts.append("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % text(entry))
        else:
            key, modified, size = entry
            parts.append("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>&quot;%x-%x&quot;</ETag>"
                         "<Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>" % (
                             text(key), time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(modified)), modified, size,
                             size))
    parts.append("</ListBucketResult>")
    return "".join(parts)


def answer(buckets, path, query):
    """Status and document for a GET of a bucket, or of all."""
    name = path.strip("/")
    if not name:
        listed = "".join("<Bucket><Name>%s</Name><CreationDate>2020-01-01T00:00:00.000Z</CreationDate></Bucket>" % each
                         for each in buckets)
        return 200, HEAD + "<ListAllMyBucketsResult %s><Buckets>%s</Buckets></ListAllMyBucketsResult>" % (NAMESPACE, listed)
    if name not in buckets:
        return 404, HEAD + "<Error><Code>NoSuchBucket</Code><Message>There is no such bucket.</Message></Error>"
    if "location" in query:
        return 200, HEAD + '<LocationConstraint %s/>' % NAMESPACE
    if {"uploads", "acl", "versioning", "versions", "policy", "lifecycle", "cors"} & query.keys():
        return 501, HEAD + "<Error><Code>NotImplemented</Code><Message>This server only reads.</Message></Error>"
    return 200, listing(buckets[name], name, query)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        path, _, query = self.path.partition("?")
        parsed = urllib.parse.parse_qs(query, keep_blank_values=True, errors="surrogateescape")
        status, document = answer(self.server.buckets, urllib.parse.unquote(path), parsed)
        body = document.encode("utf-8", "surrogateescape")
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    root = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.buckets = {name: Bucket(os.path.join(root, name)) for name in os.listdir(root)}
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
