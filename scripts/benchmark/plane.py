"""The S3 server of the measurements: nginx for the bodies of objects, the lister for the rest. It only reads.

Bodies come from files by sendfile; ETag, Range, If-Match and If-None-Match are nginx's own. Pages of listings are made
once and then served from nginx's cache. Signatures are not looked at. Each condition has a port: the delay before each
answer is nginx's (echo_sleep), so that it costs no second process and no copy.
"""
import dataclasses
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

BUCKET = "bench"
MEMORY = "/dev/shm"


@dataclasses.dataclass(frozen=True)
class Condition:
    """What lies between client and server."""
    latency_ms: int = 0
    tls: bool = False

    @property
    def title(self):
        parts = ["TLS"] if self.tls else []
        parts += ["%d ms added" % self.latency_ms] if self.latency_ms else []
        return ", ".join(parts)


SETTINGS = """
{modules}
{user}
worker_processes 2;
daemon off;
pid {work}/nginx.pid;
error_log {work}/error.log warn;
events {{ worker_connections 4096; }}
http {{
  log_format counted "$server_port $request_method $status $body_bytes_sent";
  access_log {work}/access.log counted;
  client_body_temp_path {work}/bodies; proxy_temp_path {work}/proxied; fastcgi_temp_path {work}/f;
  uwsgi_temp_path {work}/u; scgi_temp_path {work}/s;
  proxy_cache_path {work}/pages keys_zone=pages:16m max_size=2g inactive=1d use_temp_path=off;
  sendfile on; sendfile_max_chunk 1m; tcp_nodelay on; output_buffers 2 512k;
  keepalive_timeout 10m; keepalive_requests 100000000;
  merge_slashes off; etag on; server_tokens off; default_type binary/octet-stream;
  upstream lister {{ server 127.0.0.1:{lister}; keepalive 8; }}
{servers}
}}
"""

SERVER = """
  server {{
    listen 127.0.0.1:{port}{tls};
    location ~ ^/[^/]*/?$ {{ {delayed_bucket} }}
    location / {{ {delayed_object} }}
    location @bucket {{ {bucket} }}
    location @object {{ {object} }}
    error_page 404 = @missing;
    location @missing {{ default_type application/xml; return 404 "{missing}"; }}
  }}
"""

BUCKET_RULES = """proxy_pass http://lister; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffers 16 256k; proxy_buffer_size 64k; proxy_busy_buffers_size 512k;
      proxy_cache pages; proxy_cache_key $uri?$args; proxy_cache_valid 200 1d; proxy_cache_lock on;"""
OBJECT_RULES = "root {root}; add_header x-amz-request-id $request_id; try_files $uri =404;"
MISSING = "<Error><Code>NoSuchKey</Code><Message>There is no such object.</Message></Error>"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(directory):
    """A key and a certificate for 127.0.0.1 and localhost that vouches for itself."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                    "-keyout", directory + "/key.pem", "-out", directory + "/certificate.pem"],
                   check=True, stderr=subprocess.DEVNULL)


class Plane:
    """A running server; `root` is where its objects are, in memory where there is room."""

    def __init__(self, base, needed, conditions):
        self.in_memory = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > needed + (1 << 30)
        self.work = tempfile.mkdtemp(prefix="s3mirror-bench-", dir=MEMORY if self.in_memory else base)
        self.root = os.path.join(self.work, "objects")
        os.makedirs(os.path.join(self.root, BUCKET))
        self.ports = {condition: free_port() for condition in conditions}
        self.certificate = os.path.join(self.work, "certificate.pem")
        self.processes = []
        self.position = 0

    def bucket(self):
        return os.path.join(self.root, BUCKET)

    def start(self):
        """Starts to serve what is in `root`, which may not change from now on."""
        # Both end with this process, whatever ends it.
        guarded = ["setpriv", "--pdeathsig", "TERM"]
        lister = subprocess.Popen(guarded + [sys.executable, os.path.join(os.path.dirname(__file__), "lister.py"),
                                             self.root], stdout=subprocess.PIPE, text=True)
        self.processes.append(lister)
        if any(condition.tls for condition in self.ports):
            make_certificate(self.work)
        with open(os.path.join(self.work, "nginx.conf"), "w") as file:
            file.write(self.settings(lister.stdout.readline().strip()))
        self.processes.append(subprocess.Popen(guarded + ["nginx", "-c", file.name, "-e", self.work + "/error.log"]))
        for port in self.ports.values():
            self.wait_for(port)

    def settings(self, lister):
        servers = ""
        for condition, port in self.ports.items():
            rules = {"bucket": BUCKET_RULES, "object": OBJECT_RULES.format(root=self.root)}
            for name, rule in list(rules.items()):
                sleep = "echo_sleep %.3f; echo_exec @%s;" % (condition.latency_ms / 1000, name)
                rules["delayed_" + name] = sleep if condition.latency_ms else rule
            tls = " ssl; ssl_certificate %s; ssl_certificate_key %s/key.pem" % (self.certificate, self.work)
            servers += SERVER.format(port=port, tls=tls if condition.tls else "", missing=MISSING, **rules)
        delayed = any(condition.latency_ms for condition in self.ports)
        return SETTINGS.format(modules="load_module modules/ngx_http_echo_module.so;" if delayed else "",
                               user="user root;" if os.geteuid() == 0 else "", work=self.work, lister=lister,
                               servers=servers)

    def wait_for(self, port):
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                if time.monotonic() > end or self.processes[-1].poll() is not None:
                    raise RuntimeError("the server did not start: " + open(self.work + "/error.log").read()[-500:])
                time.sleep(0.02)

    def endpoint(self, condition):
        return "%s://127.0.0.1:%d" % ("https" if condition.tls else "http", self.ports[condition])

    def take(self):
        """Requests and bytes of bodies since the last take, of requests that have ended."""
        requests = sent = 0
        with open(os.path.join(self.work, "access.log")) as log:
            log.seek(self.position)
            for line in log:
                requests += 1
                sent += int(line.split()[3])
            self.position = log.tell()
        return {"requests": requests, "bytes": sent}

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        shutil.rmtree(self.work, ignore_errors=True)
