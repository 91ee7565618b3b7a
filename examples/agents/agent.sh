#!/bin/sh
# Counts the words of a file, line by line, as an agent that paddock can stop at any time.
#
# sh agent.sh FILE [PAUSE_S] [MB]: PAUSE_S and MB stand for the work that a real agent has with each
# line, and for what it would like to keep in memory of it.
set -f # a line may hold a *
file=$1 pause=${2:-0} mb=${3:-0}
kept=${PADDOCK_CHECKPOINT_DIR:+$PADDOCK_CHECKPOINT_DIR/kept}
done=0 words=0 held=0

# A shell cannot trap a signal that was ignored when it began, as these are: the files say the same.
is_asked() { [ -e "${PADDOCK_CHECKPOINT_REQUEST:-/nonexistent}" ]; }
time_is_short() { [ -e "${PADDOCK_SOFT_TIMEOUT:-/nonexistent}" ]; }

# The nearest cgroup above with a limit (v2, then v1); without one, this process and what paddock said.
limit=${PADDOCK_MEMORY_LIMIT:-0} high=0 used_file=
nearest() { # MOUNT CGROUP LIMIT_FILE USED_FILE
    below=$2
    while :; do
        found=$(cat "$1$below/$3" 2>/dev/null)
        case $found in '' | max | *[!0-9]* | ??????????????????*) ;; *)
            # One that allows more than paddock does is somebody else's.
            if [ "$limit" = 0 ] || [ "$found" -le "$limit" ]; then
                limit=$found used_file=$1$below/$4
                high=$(cat "$1$below/memory.high" 2>/dev/null)
                case $high in '' | max) high=0 ;; esac
            fi
            return ;;
        esac
        [ -n "${below#/}" ] || return
        below=${below%/*}
    done
}
while IFS=: read -r _ kind path; do
    case ,$kind, in
    ,,) nearest /sys/fs/cgroup "$path" memory.max memory.current ;;
    *,memory,*) nearest /sys/fs/cgroup/memory "$path" memory.limit_in_bytes memory.usage_in_bytes ;;
    esac
done </proc/self/cgroup

should_reduce_memory() {
    [ "$limit" -gt 0 ] || return 1
    if [ -n "$used_file" ]; then
        read -r used <"$used_file"
    else
        read -r _ resident shared _ <"/proc/$$/statm"
        used=$(((resident - shared) * 4096))
    fi
    [ "$used" -ge $((limit / 10 * 8)) ] && return 0
    # Above memory.high the kernel all but stops a program.
    [ "$high" -gt 0 ] && [ "$used" -ge $((high / 100 * 95)) ]
}

# Each in a variable of its own: to make one longer, a shell copies all of it.
hold() {
    held=$((held + 1))
    eval "cache_$held=\$(head -c $((mb * 1048576)) /dev/zero | tr '\\0' x)"
}
let_go() {
    while [ "$held" -gt 0 ]; do
        unset "cache_$held"
        held=$((held - 1))
    done
}

keep() { # beside it first: a kill in the middle leaves the old file as it was
    [ -n "$kept" ] || return 0
    echo "$done $words" >"$kept.new" && mv "$kept.new" "$kept"
}

[ -n "$kept" ] && [ -s "$kept" ] && read -r done words <"$kept"
keep # says that this program knows of checkpoints
[ "${PADDOCK_RESUME:-}" = 1 ] && echo "goes on after line $done"

number=0
while read -r line; do # line by line: it may be larger than the memory
    number=$((number + 1))
    [ "$number" -gt "$done" ] || continue
    if should_reduce_memory && [ "$held" -gt 0 ]; then
        echo "lets go of $((held * mb)) MB"
        let_go
    fi
    [ "$mb" = 0 ] || hold
    # shellcheck disable=SC2086 # it is to be taken apart
    set -- $line
    words=$((words + $#))
    [ "$pause" = 0 ] || sleep "$pause"
    done=$number
    echo "line $done"
    if is_asked; then
        echo "makes room after line $done" # first: the answer may be its end
        keep && : >"$PADDOCK_CHECKPOINT_WRITTEN"
        exec sleep 60 # for its end: what it did now, the attempt after it would do once more
    fi
    if time_is_short; then
        echo "time is short: $words words in the first $done lines"
        exit 0
    fi
done <"$file"
echo "$words words in $done lines"
