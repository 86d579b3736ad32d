"""Works of programs as they are: fio, nginx under wrk, git, rsync, python."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from .content import BIG, PACKAGES, page_keys
from .plane import free_port
from .reading import read_by_many, timed


class Missing(RuntimeError):
    """The program of a work is not installed."""


def need(program):
    if not shutil.which(program):
        raise Missing("%s is not on PATH" % program)


def fio(place, name, *settings):
    """MiB/s that fio reads from the large object."""
    need("fio")
    command = ["fio", "--name=" + name, "--filename=" + place.path(BIG), "--readonly", "--thread", "--ioengine=psync",
               "--output-format=json", "--eta=never", "--group_reporting", *settings]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=tempfile.gettempdir()).stdout
    job = json.loads(out[out.index("{"):])["jobs"][0]
    if job["error"]:
        raise RuntimeError("fio: error %d" % job["error"])
    return {name: job["read"]["bw"] / 1024}


def fio_random(size):
    def work(place, scale, plain):
        return fio(place, "fio_random%dk" % size, "--rw=randread", "--bs=%dk" % size, "--time_based",
                   "--runtime=%d" % scale.seconds, "--norandommap")
    return work


def fio_stream(readers):
    """So many readers in order, each of its part of the object."""
    def work(place, scale, plain):
        part = scale.size // readers
        return fio(place, "fio_stream%d" % readers, "--rw=read", "--bs=256k", "--numjobs=%d" % readers,
                   "--size=%d" % part, "--offset_increment=%d" % part)
    return work


SITE = """
%(user)s
worker_processes 1;
daemon off;
pid %(work)s/nginx.pid;
error_log %(work)s/error.log;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nodelay on; keepalive_requests 100000000; default_type text/html;
  client_body_temp_path %(work)s/1; proxy_temp_path %(work)s/2; fastcgi_temp_path %(work)s/3;
  uwsgi_temp_path %(work)s/4; scgi_temp_path %(work)s/5;
  server { listen 127.0.0.1:%(port)d; root %(root)s; }
}
"""

# wrk asks for the pages by turns.
SCRIPT = """
local pages, index = %d, 0
function request()
  index = (index * 1103515245 + 12345) %% 2147483648
  local page = index %% pages
  return wrk.format("GET", string.format("/%%02d/%%04d.html", math.floor(page / 100), page))
end
"""


def web(place, scale, plain):
    """Requests a second of nginx with its root in the place, all pages read before."""
    need("wrk")
    cold = read_by_many([place.path(key) for key in page_keys(scale)])
    work = tempfile.mkdtemp(prefix="s3mirror-bench-site-")
    try:
        values = {"work": work, "port": free_port(), "root": place.path("web"),
                  "user": "user root;" if os.geteuid() == 0 else ""}
        with open(work + "/nginx.conf", "w") as file:
            file.write(SITE % values)
        with open(work + "/pages.lua", "w") as file:
            file.write(SCRIPT % scale.pages)
        nginx = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "nginx", "-c", work + "/nginx.conf", "-e",
                                  work + "/error.log"])
        try:
            time.sleep(0.3)
            rate = wrk("http://127.0.0.1:%d" % values["port"], work + "/pages.lua", scale.seconds)
        finally:
            nginx.terminate()
            nginx.wait()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {"web_cold_s": cold, "web_rate": rate}


def wrk(url, script, seconds):
    out = subprocess.run(["wrk", "-t1", "-c16", "-d%ds" % seconds, "-s", script, url], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    if bad := re.search(r"Non-2xx.*", out):
        raise RuntimeError("nginx: " + bad.group(0))
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def git(place, scale, plain):
    need("git")
    # The files are another's for git, and the index can't be written.
    command = ["git", "-c", "safe.directory=*", "-C", place.path("repo"), "status", "--porcelain"]

    def status():
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, GIT_OPTIONAL_LOCKS="0"))
        if changes := [line for line in run.stdout.splitlines() if not line.startswith("??")]:
            raise RuntimeError("git status: " + changes[0])

    return {"git_s": timed(status), "git_again_s": timed(status)}


def rsync(place, scale, plain):
    """rsync -n of the small objects into an empty directory: names, sizes and times of all, no contents."""
    need("rsync")
    with tempfile.TemporaryDirectory(prefix="s3mirror-bench-") as target:
        def compare():
            out = subprocess.run(["rsync", "-rtn", "--stats", place.path("small") + "/", target], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
            if "reg: {:,}".format(scale.small) not in out:
                raise RuntimeError("rsync saw other files: " + out[:200])
        return {"rsync_s": timed(compare)}


def python(place, scale, plain):
    """What `python -X importtime` says of importing packages from the place."""
    packages = ", ".join("asyncio.events" if name == "asyncio" else name for name in PACKAGES)
    code = "import %s, email.message, http.client, unittest.mock, xml.dom.minidom, logging.handlers" % packages

    def load():
        run = subprocess.run([sys.executable, "-S", "-B", "-X", "importtime", "-c", code], check=True,
                             stderr=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONPATH=place.path("python")))
        return sum(int(line.split("|")[0].split(":")[1]) for line in run.stderr.splitlines()
                   if re.match(r"import time: +\d", line)) / 1000

    return {"python_ms": load(), "python_again_ms": load()}
