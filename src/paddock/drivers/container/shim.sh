# The first process of every container: waits for leave to begin, starts the agent, writes down how
# it ended, and holds its output and its cgroup's counters until the driver has taken them.
#
# Plain sh (dash, busybox and bash are tried), no other program needed. Why not the agent itself:
# the first process of a container gets no signal it does not catch, and an engine's exit code does
# not tell exit 137 from signal 9.
#
# sh SHIM DIRECTORY MODE UMASK STDIN COMMAND...   MODE: held, or alone (where no FIFO can be shared)
paddock_in=$1 paddock_mode=$2 paddock_stdin=$4
umask "$3"
shift 4
exec 2>"$paddock_in/shell" # what goes wrong in here is read from there

if [ "$paddock_mode" = held ]; then
    # Read-write: opening waits for nobody, and nothing written is lost while one of us is there.
    exec 3<>"$paddock_in/word" 4<>"$paddock_in/bell" 1<>"$paddock_in/out" || exit 126
else
    exec 3</dev/null 4>/dev/null 1>>"$paddock_in/out" || exit 126
fi
exec 0<"$paddock_stdin" || exit 126

hear() { # until it is told this word
    [ "$paddock_mode" = held ] || return 0
    while read -r paddock_word <&3; do
        [ "$paddock_word" = "$1" ] && return 0
    done
}

say() { # written down before the bell is rung
    echo "$1" >"$paddock_in/status"
    echo "$1" >&4
}

is_there() ( # whether there is such a program: a builtin is none
    case $1 in */*) [ -f "$1" ] && [ -x "$1" ] && exit 0 || exit 1 ;; esac
    set -f
    IFS=:
    for each in $PATH; do
        [ -f "${each:-.}/$1" ] && [ -x "${each:-.}/$1" ] && exit 0
    done
    exit 1
)

hear go
if ! is_there "$1"; then
    say missing
    hear leave
    exit 127
fi
say running

trap '' USR1 USR2 # unless it asks for them: they would end a program that never heard of them
if [ "$paddock_mode" = held ]; then
    (
        exec 2>&1 3>&- 4>&-
        exec "$@"
    )
    paddock_code=$?
else
    # In the background, so that SIGTERM can be handed on. This costs that it ignores SIGINT and
    # SIGQUIT, which shells do to what runs there.
    exec 5<&0
    (
        exec 2>&1 3>&- 4>&- 5<&-
        exec "$@"
    ) <&5 &
    paddock_main=$!
    trap 'kill -TERM -1' TERM
    while :; do
        wait $paddock_main # a signal ends this, the agent's end as well
        paddock_code=$?
        kill -0 $paddock_main 2>/dev/null || break
    done
fi

# Shells say "Killed" for a signal and nothing for an exit with the same number. They are silent
# about SIGINT and SIGPIPE, and about what runs in the background: there the number decides.
paddock_how=exit
case $paddock_code in 130 | 141) paddock_how=signal ;; esac
if [ "$paddock_code" -gt 128 ]; then
    [ -s "/proc/$$/fd/2" ] && paddock_how=signal # also if the agent removed that file
    [ "$paddock_mode" = alone ] && paddock_how=signal
fi
if [ $paddock_how = signal ]; then
    say "signal $((paddock_code - 128))"
else
    say "exit $paddock_code"
fi
hear leave
exit "$paddock_code"
