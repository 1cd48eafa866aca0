# JuiceFS: data in a folder, metadata in Redis. It is in no package: it is built with Go from its module.
# shellcheck shell=bash

JUICEFS_VERSION=v1.2.0
JUICEFS_CACHE=${JUICEFS_CACHE:-$HOME/.cache/parabench-lab}

packages_of() { echo redis-server; }

start() {
    local meta=redis://127.0.0.1:6399/1
    build_juicefs
    mkdir -p "$STATE/redis" "$STATE/objects"
    make_disk 1
    inside redis-server --port 6399 --bind 127.0.0.1 --dir "$STATE/redis" --daemonize yes \
        --pidfile "$STATE/redis.pid" --logfile "$STATE/log/redis.log" >/dev/null
    wait_for 20 redis client redis-cli -p 6399 ping
    # The objects lie on the disk that the servers see; JuiceFS clients are its servers, too.
    client "$JUICEFS_CACHE/juicefs" format --storage file --bucket "$STATE/objects/" "$meta" lab \
        >>"$STATE/log/up.log" 2>&1
    for number in 1 2; do
        client "$JUICEFS_CACHE/juicefs" mount -d --no-usage-report --cache-dir "$STATE/cache$number" \
            --log "$STATE/log/client$number.log" --metrics "127.0.0.1:956$number" "$meta" "$STATE/m$number" \
            >>"$STATE/log/up.log" 2>&1 </dev/null
    done
}

build_juicefs() {
    [ -x "$JUICEFS_CACHE/juicefs" ] && return
    command -v go >/dev/null ||
        die "juicefs is in no package, and Go is not here to build it: install the package golang-go or a Go of https://go.dev"
    say "builds juicefs $JUICEFS_VERSION, a few minutes"
    local source
    export GOFLAGS="-buildvcs=false -modcacherw"
    source=$(go mod download -json "github.com/juicedata/juicefs@$JUICEFS_VERSION" |
        sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    [ -d "$source" ] || die "the source of juicefs $JUICEFS_VERSION cannot be had from the Go proxy"
    mkdir -p "$JUICEFS_CACHE"
    rm -rf "$JUICEFS_CACHE/source"
    cp -r "$source" "$JUICEFS_CACHE/source"
    (
        cd "$JUICEFS_CACHE/source"
        # The version that it names does not compile with a Go of today.
        go get github.com/grafana/pyroscope-go/godeltaprof@latest
        go build -tags "$(juicefs_tags)" -ldflags "-s -w" -o "$JUICEFS_CACHE/juicefs" .
    ) >>"$STATE/log/up.log" 2>&1 || die "juicefs does not compile: see $STATE/log/up.log"
}

# Leaves out the stores that are not used.
juicefs_tags() {
    echo nogateway,nowebdav,nocos,nobos,nohdfs,noibmcos,noobs,nooss,noqingstor,noswift,noazure,nogs,noufile,nob2,nonfs,nodragonfly,nosftp,noetcd,nopg,nomysql,notikv,nobadger
}

stop_servers() { client redis-cli -p 6399 shutdown nosave; }

server_pid() { cat "$STATE/redis.pid"; }

start_server() {
    inside redis-server --port 6399 --bind 127.0.0.1 --dir "$STATE/redis" --daemonize yes \
        --pidfile "$STATE/redis.pid" --logfile "$STATE/log/redis.log"
}

versions() {
    "$JUICEFS_CACHE/juicefs" version | sed -E 's/^juicefs version /JuiceFS /I'
    echo "objects in a folder, metadata in Redis $(dpkg-query -W -f '${Version}' redis-server)"
}
