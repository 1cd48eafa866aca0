# CephFS: a monitor, a manager, three object servers, a metadata server; one copy of each object; mounted by ceph-fuse.
# shellcheck shell=bash

packages_of() { echo ceph-mon ceph-mgr ceph-osd ceph-mds ceph-fuse ceph-common uuid-runtime; }

ceph_command() { inside timeout 60 ceph -c "$STATE/ceph.conf" "$@"; }

start() {
    local fsid number
    fsid=$(uuidgen)
    mkdir -p "$STATE/run" "$STATE/mon" "$STATE/mgr" "$STATE/mds" "$STATE/osd.0" "$STATE/osd.1" "$STATE/osd.2"
    write_conf "$fsid"
    start_monitor "$fsid"
    for number in 0 1 2; do
        make_osd "$number"
    done
    inside ceph-mds -c "$STATE/ceph.conf" -i a >>"$STATE/log/up.log" 2>&1 </dev/null
    {
        ceph_command osd pool create meta 8 8
        ceph_command osd pool create data 16 16
        ceph_command fs new cephfs meta data
    } >>"$STATE/log/up.log" 2>&1
    wait_for 60 "the metadata server" mds_is_active
    for number in 1 2; do
        client timeout 60 ceph-fuse -c "$STATE/ceph.conf" --id admin --pid-file="$STATE/run/client$number.pid" \
            --admin-socket="$STATE/run/client$number.asok" "$STATE/m$number" >>"$STATE/log/up.log" 2>&1 </dev/null
    done
}

write_conf() { # FSID
    cat >"$STATE/ceph.conf" <<END
[global]
fsid = $1
mon_host = [v2:127.0.0.1:3300,v1:127.0.0.1:6789]
mon_initial_members = a
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
public_network = 127.0.0.0/8
cluster_network = 127.0.0.0/8
ms_bind_ipv6 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
run_dir = $STATE/run
admin_socket = $STATE/run/\$name.asok
pid_file = $STATE/run/\$name.pid
log_file = $STATE/log/\$name.log
mon_cluster_log_file = $STATE/log/cluster.log
crash_dir = $STATE/log
osd_pool_default_size = 1
osd_pool_default_min_size = 1
mon_allow_pool_size_one = true
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_warn_on_pool_no_redundancy = false
[mon]
mon_data = $STATE/mon
mon_data_avail_crit = 1
mon_data_avail_warn = 2
[mgr]
mgr_data = $STATE/mgr
mgr_initial_modules =
[osd]
osd_data = $STATE/osd.\$id
osd_objectstore = bluestore
osd_memory_target = 939524096
bluestore_block_size = 4294967296
bluestore_block_create = true
osd_op_num_shards = 2
[mds]
mds_data = $STATE/mds
mds_cache_memory_limit = 268435456
[client]
client_cache_size = 16384
END
}

start_monitor() { # FSID
    {
        monmaptool --create --fsid "$1" --addv a '[v2:127.0.0.1:3300,v1:127.0.0.1:6789]' "$STATE/monmap"
        ceph-mon -c "$STATE/ceph.conf" --mkfs -i a --monmap "$STATE/monmap"
        inside ceph-mon -c "$STATE/ceph.conf" -i a
        inside ceph-mgr -c "$STATE/ceph.conf" -i x
    } >>"$STATE/log/up.log" 2>&1 </dev/null
}

make_osd() { # NUMBER
    local id
    id=$(uuidgen)
    {
        ceph_command osd new "$id" "$1"
        # Without --no-mon-config it asks the monitor, which it cannot reach from here, for 300 s.
        ceph-osd -c "$STATE/ceph.conf" --no-mon-config -i "$1" --mkfs --osd-uuid "$id"
        inside ceph-osd -c "$STATE/ceph.conf" -i "$1"
    } >>"$STATE/log/up.log" 2>&1 </dev/null
}

mds_is_active() { ceph_command mds stat | grep -q up:active; }

# The metadata server asks the monitor at its end: it goes first.
stop_servers() {
    for name in mds.a osd.0 osd.1 osd.2 mgr.x mon.a; do
        end_process "$(cat "$STATE/run/$name.pid")" TERM
    done
}

server_pid() { cat "$STATE/run/osd.0.pid"; }

start_server() { inside ceph-osd -c "$STATE/ceph.conf" -i 0; }

versions() {
    ceph --version | sed -E 's/^ceph version ([^ ]+).*/Ceph \1/'
    echo "ceph-fuse, 1 monitor, 1 metadata server, 3 object servers, 1 copy"
}
