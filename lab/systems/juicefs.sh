# JuiceFS: objects in a folder of a bounded disk, metadata in Redis. JuiceFS is in no package: it is built with Go.
# shellcheck shell=bash

JUICEFS_VERSION=v1.2.0
# The version of this module that JuiceFS names does not compile with a Go of today.
JUICEFS_NEWER=github.com/grafana/pyroscope-go/godeltaprof@v0.1.9
JUICEFS_CACHE=${JUICEFS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/parabench-lab}
JUICEFS=$JUICEFS_CACHE/juicefs-$JUICEFS_VERSION

packages_of() { echo redis-server; }

prepare() {
    [ -x "$JUICEFS" ] && return
    command -v go >/dev/null ||
        die "juicefs is in no package, and no Go is here to build it: put a Go of https://go.dev/dl into the PATH"
    say "builds juicefs $JUICEFS_VERSION, a few minutes"
    mkdir -p "$JUICEFS_CACHE"
    (build_juicefs) >"$JUICEFS_CACHE/build.log" 2>&1 </dev/null ||
        die "juicefs cannot be built: see $JUICEFS_CACHE/build.log"
}

# In a copy of the module: Go's own is not changed.
build_juicefs() {
    local module source work
    export GOFLAGS=-buildvcs=false
    module=$(go mod download -json "github.com/juicedata/juicefs@$JUICEFS_VERSION") || return
    source=$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$module")
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    cp -r --no-preserve=mode "$source/." "$work" && cd "$work" || return
    go get "$JUICEFS_NEWER" || return
    go build -p 1 -tags "$(juicefs_tags)" -ldflags "-s -w" -o "$JUICEFS.new" . || return
    mv "$JUICEFS.new" "$JUICEFS"
}

# Leaves out the stores and servers that are not used.
juicefs_tags() {
    local tags
    printf -v tags 'no%s,' gateway webdav cos bos hdfs ibmcos obs oss qingstor scs sftp swift upyun azure gs ufile b2 \
        nfs dragonfly sqlite mysql pg tikv badger etcd
    echo "${tags%,}"
}

start() {
    local meta=redis://127.0.0.1:6399/1
    make_disk 1
    inside mkdir "$STATE/disk/1/redis" "$STATE/disk/1/objects"
    start_server
    wait_for 20 redis redis_command ping
    # Clients write the objects. They reach the servers' disk by way of the process that holds it. Without the trash,
    # which would keep what is removed for a day.
    client "$JUICEFS" format --storage file --bucket "/proc/$ANCHOR/root$STATE/disk/1/objects/" --trash-days 0 \
        "$meta" lab >>"$STATE/log/up.log" 2>&1
    mount_juicefs 1 "$meta"
    mount_juicefs 2 "$meta"
}

# Alone: a process that watches it would leave its socket in /tmp. No names are cached: programs reuse names, and the
# other mount would look for the removed file.
mount_juicefs() { # NUMBER META
    JFS_SUPERVISOR=lab client setsid --fork "$JUICEFS" mount --no-usage-report --no-syslog --entry-cache 0 \
        --dir-entry-cache 0 --cache-dir "$STATE/cache$1" --cache-size 512 --metrics "127.0.0.1:956$1" "$2" \
        "$STATE/m$1" >>"$STATE/log/client$1.log" 2>&1 </dev/null
}

redis_command() { inside timeout 10 redis-cli -p 6399 "$@"; }

stop_servers() { redis_command shutdown; }

server_pid() { cat "$STATE/redis.pid"; }

# With a log of what it changed: a killed one has everything when it starts again.
start_server() {
    inside redis-server --port 6399 --bind 127.0.0.1 --dir "$STATE/disk/1/redis" --daemonize yes --save "" \
        --appendonly yes --pidfile "$STATE/redis.pid" --logfile "$STATE/log/redis.log" >>"$STATE/log/up.log" 2>&1
}

versions() {
    "$JUICEFS" version | sed -E 's/^juicefs version /JuiceFS /I'
    echo "metadata in Redis $(dpkg-query -W -f '${Version}' redis-server), objects in a folder, names not cached"
}
