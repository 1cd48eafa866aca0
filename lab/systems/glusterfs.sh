# GlusterFS: a volume of two bricks, distributed (glusterfs) or of three replicas (glusterfs-replica).
# shellcheck shell=bash

packages_of() { echo glusterfs-server glusterfs-client; }

# 127.0.0.1 is refused as the host of several bricks.
GLUSTER_HOST=127.0.1.1

gluster_command() { inside timeout 60 gluster --mode=script "$@"; }

start() {
    local folder bricks=() count=2 kind=()
    if [ "$SYSTEM" = glusterfs-replica ]; then
        count=3
        kind=(replica 3)
    fi
    # Its fixed places, seen by the servers alone.
    for folder in /var/lib/glusterd /var/log/glusterfs /run; do
        mkdir -p "$STATE/own$folder" "$folder"
        inside mount --bind "$STATE/own$folder" "$folder"
    done
    mkdir -p "$STATE/own/run/gluster" "$STATE/own/var/log/glusterfs/bricks"
    ln -s "$STATE/own/var/log/glusterfs" "$STATE/log/servers"
    for number in $(seq $count); do
        make_disk "$number"
        bricks+=("$GLUSTER_HOST:$STATE/disk/$number/brick")
    done
    inside glusterd -p "$STATE/glusterd.pid" -l "$STATE/log/glusterd.log" </dev/null >/dev/null 2>&1
    wait_for 30 glusterd gluster_command pool list
    gluster_command volume create lab "${kind[@]}" "${bricks[@]}" force >>"$STATE/log/up.log" 2>&1
    gluster_command volume start lab >>"$STATE/log/up.log" 2>&1
    for number in 1 2; do
        # Without times for which names are believed: the other mount makes files anew under the same names.
        client mount -t glusterfs -o "log-file=$STATE/log/client$number.log,attribute-timeout=0,entry-timeout=0" \
            "$GLUSTER_HOST:/lab" "$STATE/m$number"
    done
}

stop_servers() { gluster_command volume stop lab force; }

server_pid() { cat "$STATE"/own/run/gluster/vols/lab/*disk-1-brick.pid; }

# A brick that is missing is started by a start of its volume. As long as the system has not reaped the killed one,
# glusterd takes it for running, and says success: asked again, until the brick is there.
start_server() { wait_for 30 "the brick" start_brick; }

start_brick() { gluster_command volume start lab force && is_running "$(server_pid)"; }

versions() {
    glusterfs --version | sed -n '1s/^glusterfs /GlusterFS /p'
    gluster_command volume info lab | grep -E '^(Type|Number of Bricks):'
}
