# What the scripts of lab/ share: where a laboratory keeps its state, how its processes are started and found.
#
# A laboratory is one cluster file system on this machine. Its servers have a network and mounts of their own: when the
# last of them ends, the kernel takes both away, and the loop devices with them. The client's mount is visible to all.
#
#   $STATE/system         name of the system
#   $STATE/anchor         process that holds the network and the mounts
#   $STATE/img/1          file below a loop device, bounded in size
#   $STATE/m1 $STATE/m2   the file system, mounted twice
#   $STATE/processes      how many processes of each name there were when it had come up
# shellcheck shell=bash
set -euo pipefail

LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
STATE=$(realpath -m "${PARABENCH_LAB:-/var/tmp/parabench-lab}")
MARKER=$STATE/.parabench-lab
# Size of each loop image: sparse, so that it takes what is written.
IMAGE_SIZE=${IMAGE_SIZE:-3G}

say() { echo "lab: $*" >&2; }
die() {
    say "$*"
    exit 1
}

need_root() { [ "$(id -u)" = 0 ] || die "mounts and namespaces need root: try sudo $0"; }

is_up() { [ -f "$MARKER" ] && find_anchor >/dev/null; }

# Prints the anchor's number, if it is alive. A number alone is no proof: after a restart of the machine it is somebody
# else's, and all that shares that one's network would be taken for the laboratory's.
find_anchor() {
    local pid
    pid=$(cat "$STATE/anchor" 2>/dev/null) || return 1
    [[ $(command_of "$pid") == *" anchor $STATE/anchor " ]] && echo "$pid"
}

command_of() { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null # PID

# If the anchor was killed: another process of the laboratory. It names the laboratory's folder in its command, and is
# in another network than ours.
find_heir() {
    local own folder
    own=$(readlink /proc/self/ns/net)
    for folder in /proc/[0-9]*; do
        [[ $(command_of "${folder#/proc/}") == *"$STATE/"* ]] || continue
        [ "$(readlink "$folder/ns/net" 2>/dev/null || echo "$own")" = "$own" ] && continue
        echo "${folder#/proc/}"
        return 0
    done
    return 1
}

# Commands of a system: packages_of, prepare, start, stop_servers, server_pid, start_server, versions.
load_system() { # NAME
    case $1 in
        glusterfs | glusterfs-replica) SYSTEM_FILE=glusterfs ;;
        cephfs | moosefs | juicefs) SYSTEM_FILE=$1 ;;
        *) die "unknown system $1: glusterfs, glusterfs-replica, cephfs, moosefs or juicefs" ;;
    esac
    export SYSTEM=$1
    # What is made once and stays; a system of packages alone has nothing.
    prepare() { :; }
    # shellcheck source=/dev/null
    . "$LAB/systems/$SYSTEM_FILE.sh"
}

# Debian's packages, as far as they are missing; no service is started by their scripts.
install_packages() { # PACKAGE...
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return 0
    command -v apt-get >/dev/null || die "install these packages: ${missing[*]}"
    say "installs ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt_quietly install || { apt-get update -qq >&2 && apt_quietly install; } ||
        die "cannot install ${missing[*]}: see the lines above"
}

# With a policy that forbids services of packages to start, unless the machine has one already; a shell of its own
# takes the policy away, however this one ends.
apt_quietly() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap 'rm -f $policy' EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
    fi
    apt-get "$1" -y -qq -o DPkg::Lock::Timeout=120 --no-install-recommends "${missing[@]}" >/dev/null
)

# The process that holds network and mounts; it writes its own number, and ends when its file is gone: every 5 s it
# looks, waiting for input that never comes.
start_anchor() {
    # shellcheck disable=SC2016
    setsid unshare --net --mount --propagation private bash -c '
        ip link set lo up
        echo $$ >"$1.new" && mv "$1.new" "$1"
        exec <> <(:)
        while [ -e "$1" ]; do read -rt 5; done' anchor "$STATE/anchor" </dev/null >/dev/null 2>&1 9>&- &
    # The shell does not report its end.
    disown
    wait_for 10 "a namespace" test -s "$STATE/anchor"
    ANCHOR=$(cat "$STATE/anchor")
}

# A server's command: with the network and the mounts of the servers.
inside() { nsenter --net="/proc/$ANCHOR/ns/net" --mount="/proc/$ANCHOR/ns/mnt" -- "$@" 9>&-; }
# A client's command: with the network alone, so that its mount is seen by everybody.
client() { nsenter --net="/proc/$ANCHOR/ns/net" -- "$@" 9>&-; }

# Processes in the laboratory's network: all are its own.
processes() {
    local net folder
    net=$(readlink "/proc/$ANCHOR/ns/net") || return 0
    [ "$net" != "$(readlink /proc/self/ns/net)" ] || return 0
    for folder in /proc/[0-9]*; do
        [ "$(readlink "$folder/ns/net" 2>/dev/null)" = "$net" ] && echo "${folder#/proc/}"
    done
    return 0
}

# The laboratory's processes without the anchor, counted: "3 ceph-osd".
count_processes() {
    local pid
    for pid in $(processes); do
        [ "$pid" = "$ANCHOR" ] || cat "/proc/$pid/comm" 2>/dev/null || true
    done | sort | uniq -c
}

wait_for() { # SECONDS WHAT COMMAND...
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || die "$what: no answer in time; logs are in $STATE/log"
        sleep 0.1
    done
}

# An ext4 file system in a file, mounted where only servers see it.
make_disk() { # NUMBER
    mkdir -p "$STATE/img" "$STATE/disk/$1"
    truncate -s "$IMAGE_SIZE" "$STATE/img/$1"
    mkfs.ext4 -q -I 512 -F "$STATE/img/$1"
    inside mount -o loop "$STATE/img/$1" "$STATE/disk/$1"
}

is_mounted() { grep -q " $1 fuse" /proc/mounts; }

# It has the type and answers.
check_mount() { # FOLDER
    wait_for 60 "$1" is_mounted "$1"
    wait_for 60 "$1" timeout 10 touch "$1/.answers"
    rm -f "$1/.answers"
}

# A number alone is no proof: the process is in this laboratory's network.
is_own() { # PID
    [ "$(readlink "/proc/$1/ns/net" 2>/dev/null)" = "$(readlink "/proc/$ANCHOR/ns/net")" ]
}

# It has not ended: of a process that nobody has reaped yet there is no program.
is_running() { readlink "/proc/$1/exe"; } # PID

# Ends a process that is this laboratory's, and waits for its end.
end_process() { # PID SIGNAL
    is_own "$1" || return 0
    kill "-$2" "$1" 2>/dev/null || return 0
    wait_gone "$1" 10 || { kill -KILL "$1" 2>/dev/null && wait_gone "$1" 10; } ||
        say "process $1 does not end"
}

wait_gone() { # PID SECONDS
    local end=$((SECONDS + $2))
    while [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
