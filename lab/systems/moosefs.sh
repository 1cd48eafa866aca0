# MooseFS: a master and three chunk servers, two copies of each chunk.
# shellcheck shell=bash

packages_of() { echo moosefs-master moosefs-chunkserver moosefs-client moosefs-cli; }

# Chunk servers refuse 127.0.0.x.
MFS_NET=10.77.0

start() {
    local number
    for number in 1 2 3 4; do
        client ip addr add "$MFS_NET.$number/24" dev lo
    done
    mkdir -p "$STATE/master"
    cp /var/lib/mfs/metadata.mfs.empty "$STATE/master/metadata.mfs"
    echo "$MFS_NET.0/24 / rw,alldirs,maproot=0" >"$STATE/exports.cfg"
    {
        own_user "$STATE/master"
        echo "EXPORTS_FILENAME = $STATE/exports.cfg"
        echo "MATOML_LISTEN_HOST = $MFS_NET.1"
        echo "MATOCS_LISTEN_HOST = $MFS_NET.1"
        echo "MATOCL_LISTEN_HOST = $MFS_NET.1"
        echo "REPLICATIONS_DELAY_INIT = 0"
    } >"$STATE/master.cfg"
    chown -R mfs:mfs "$STATE/master"
    inside mfsmaster -c "$STATE/master.cfg" start >>"$STATE/log/up.log" 2>&1 </dev/null
    for number in 1 2 3; do
        chunk_server "$number"
    done
    for number in 1 2; do
        mount_mfs "$number"
    done
    wait_for 60 "space on the chunk servers" has_space
    client mfssetgoal -r 2 "$STATE/m1" >>"$STATE/log/up.log"
}

own_user() { # FOLDER
    echo "WORKING_USER = mfs"
    echo "WORKING_GROUP = mfs"
    echo "DATA_PATH = $1"
}

chunk_server() { # NUMBER
    local number=$1 address=$MFS_NET.$(($1 + 1))
    make_disk "$number"
    mkdir -p "$STATE/chunks/$number"
    echo "$STATE/disk/$number" >"$STATE/disks$number.cfg"
    {
        own_user "$STATE/chunks/$number"
        echo "HDD_CONF_FILENAME = $STATE/disks$number.cfg"
        echo "MASTER_HOST = $MFS_NET.1"
        echo "CSSERV_LISTEN_HOST = $address"
        echo "BIND_HOST = $address"
        echo "CSSERV_LISTEN_PORT = 942$((number + 1))"
        echo "HDD_LEAVE_SPACE_DEFAULT = 128MiB"
    } >"$STATE/chunks$number.cfg"
    chown -R mfs:mfs "$STATE/chunks/$number"
    inside chown mfs:mfs "$STATE/disk/$number"
    inside mfschunkserver -c "$STATE/chunks$number.cfg" start >>"$STATE/log/up.log" 2>&1 </dev/null
}

mount_mfs() { # NUMBER
    client timeout 30 mfsmount -H "$MFS_NET.1" "$STATE/m$1" >>"$STATE/log/up.log" 2>&1 </dev/null
}

has_space() { timeout 5 df -k --output=avail "$STATE/m1" | awk 'NR == 2 { exit !($1 > 1000000) }'; }

stop_servers() {
    for number in 1 2 3; do
        inside timeout 30 mfschunkserver -c "$STATE/chunks$number.cfg" stop
    done
    inside timeout 30 mfsmaster -c "$STATE/master.cfg" stop
}

server_pid() { tr -cd '0-9' <"$STATE/chunks/1/.mfschunkserver.lock"; }

start_server() { inside mfschunkserver -c "$STATE/chunks1.cfg" start; }

versions() {
    dpkg-query -W -f 'MooseFS ${Version}\n' moosefs-master
    echo "1 master, 3 chunk servers, goal 2"
}
