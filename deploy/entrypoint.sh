#!/bin/sh
# What a container does: `serve` (default), `worker`, `migrate`, or any other command of perseid. A shell, Python and
# programs named by their path are run as they are.
#
# Any variable PERSEID_SECTION__NAME may be given as PERSEID_SECTION__NAME_FILE, the file that holds its value.
# `serve` makes an API key at its first start where none is given, and keeps it in PERSEID_KEY_FILE.
set -eu

say() {
    printf 'perseid-entrypoint: %s\n' "$*" >&2
}

read_files() {
    for name in $(env | sed -n 's/^\(PERSEID_[A-Z]*__[A-Z_]*\)_FILE=.*/\1/p'); do
        file=
        eval "file=\${${name}_FILE}"
        if ! [ -r "$file" ]; then
            say "${name}_FILE names $file, which can't be read"
            exit 2
        fi
        value=$(cat "$file")
        export "$name=$value"
        unset "${name}_FILE"
    done
}

# Several servers may share the folder: of those that begin together one makes the key, and all use it.
make_key() {
    key_file=${PERSEID_KEY_FILE:-${PERSEID_DATA:-/data}/api-key}
    if ! [ -s "$key_file" ]; then
        umask 077
        fresh=$(mktemp "$key_file.XXXXXX")
        python -c 'import secrets; print("fc-" + secrets.token_hex(16))' >"$fresh"
        if ln "$fresh" "$key_file" 2>/dev/null; then
            say "made an API key; it is in $key_file"
        fi
        rm -f "$fresh"
    fi
    PERSEID_API__KEYS=$(cat "$key_file")
    export PERSEID_API__KEYS
}

read_files
command=${1:-serve}
case $command in
    serve)
        [ $# -eq 0 ] || shift
        export PERSEID_API__HOST="${PERSEID_API__HOST:-0.0.0.0}"
        if [ -z "${PERSEID_API__KEYS:-}" ] && [ "${PERSEID_API__INSECURE_NO_AUTH:-}" != true ]; then
            make_key
        fi
        exec perseid serve "$@"
        ;;
    worker)
        shift
        export PERSEID_WORKER__PROBE_HOST="${PERSEID_WORKER__PROBE_HOST:-0.0.0.0}"
        export PERSEID_WORKER__PROBE_PORT="${PERSEID_WORKER__PROBE_PORT:-8080}"
        exec perseid worker "$@"
        ;;
    migrate)
        shift
        exec perseid db migrate --wait "${PERSEID_MIGRATE_WAIT:-60s}" "$@"
        ;;
    sh | bash | python | perseid | perseid-healthcheck | */*)
        exec "$@"
        ;;
    *)
        exec perseid "$@"
        ;;
esac
