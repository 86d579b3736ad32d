"""How each program is mounted: in the foreground, read-only, with a cache of its own and the same lifetime."""
import os
import shutil
import subprocess

from .plane import BUCKET

ACCESS, SECRET = "bench", "bench-secret"
LIFETIME = 3600
PEERS = ("rclone", "s3fs", "goofys", "geesefs", "mount-s3")
PASSTHROUGH = "passthrough"


def mirror(place, binary, *more):
    return [binary, "mount", "--foreground", "--endpoint-url", place.endpoint, "--cache-dir", place.cache,
            "--freshness", "%ds" % LIFETIME, *more, "s3://" + BUCKET, place.mount]


def command(place, binary):
    """The command line that mounts the bucket at `place.mount`."""
    endpoint, cache, mount, work = place.endpoint, place.cache, place.mount, place.work
    return {
        "s3mirror": lambda: mirror(place, binary),
        PASSTHROUGH: lambda: mirror(place, binary, "--data-path", "passthrough"),
        "rclone": lambda: [
            "rclone", "mount", "--config=/dev/null", "--cache-dir=" + cache, "--read-only", "--vfs-cache-mode=full",
            "--dir-cache-time=%ds" % LIFETIME, "--attr-timeout=1s", "--use-server-modtime", "--s3-no-check-bucket",
            "--log-level=ERROR", "bench:" + BUCKET, mount],
        # Directories without an object of their own are what it supports by default; that costs it HEADs.
        "s3fs": lambda: [
            "s3fs", BUCKET, mount, "-f", "-o", "ro,use_path_request_style,url=" + endpoint, "-o",
            "passwd_file=%s/passwd,use_cache=%s,kernel_cache,listobjectsv2" % (work, cache), "-o",
            "stat_cache_expire=%d,max_stat_cache_size=1000000,enable_noobj_cache,parallel_count=16" % LIFETIME, "-o",
            "dbglevel=crit"],
        "goofys": lambda: [
            "goofys", "-f", "--endpoint", endpoint, "--region", "us-east-1", "-o", "ro", "--stat-cache-ttl",
            "%ds" % LIFETIME, "--type-cache-ttl", "%ds" % LIFETIME, BUCKET, mount],
        "geesefs": lambda: [
            "geesefs", "-f", "--endpoint", endpoint, "--region", "us-east-1", "-o", "ro", "--stat-cache-ttl",
            "%ds" % LIFETIME, "--cache", cache, BUCKET, mount],
        "mount-s3": lambda: [
            "mount-s3", "-f", "--read-only", "--endpoint-url", endpoint, "--force-path-style", "--region", "us-east-1",
            "--metadata-ttl", str(LIFETIME), "--cache", cache, BUCKET, mount],
    }[place.name]()


def environment(endpoint, certificate, home):
    """What all of them find in their environment: credentials, and whom to trust."""
    rclone = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": endpoint, "ACCESS_KEY_ID": ACCESS,
              "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1", "FORCE_PATH_STYLE": "true"}
    values = {"RCLONE_CONFIG_BENCH_" + name: value for name, value in rclone.items()}
    if endpoint.startswith("https:"):
        values.update(AWS_CA_BUNDLE=certificate, CURL_CA_BUNDLE=certificate, SSL_CERT_FILE=certificate,
                      RCLONE_CA_CERT=certificate)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return dict(kept, AWS_ACCESS_KEY_ID=ACCESS, AWS_SECRET_ACCESS_KEY=SECRET, AWS_REGION="us-east-1", HOME=home,
                AWS_EC2_METADATA_DISABLED="true", XDG_RUNTIME_DIR=home, **values)


def output_of(*arguments):
    run = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, errors="replace", check=False)
    return run.stdout


def versions(binary, names):
    """The first line of what each program says of its version."""
    programs = {"s3mirror": [binary, "version"], "rclone": ["rclone", "version"], "s5cmd": ["s5cmd", "version"]}
    found = {}
    for name in names:
        if name in programs or name in PEERS:
            found[name] = (output_of(*programs.get(name, [name, "--version"])).strip() or "?").splitlines()[0]
    return found


def contestants(binary, wanted):
    """The names of what can take part: native, s3mirror by either path, the peers on PATH, and the bare clients."""
    ways = ["s3mirror"] + ([PASSTHROUGH] if "--data-path" in output_of(binary, "mount", "--help") else [])
    names = ways + [name for name in PEERS if shutil.which(name)]
    chosen = [name for name in names if not wanted or name in wanted]
    if unknown := set(wanted) - set(names) - {"native"}:
        raise SystemExit("not on PATH, or not known: " + ", ".join(sorted(unknown)))
    return ["native"] + chosen + ["bare"] + (["s5cmd"] if shutil.which("s5cmd") else [])
