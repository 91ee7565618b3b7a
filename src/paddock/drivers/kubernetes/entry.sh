# The first process of an agent's container: starts the agent, hears what it is asked, tells the rest.
# It speaks in the log, between two record separators and after a mark that no agent knows by accident.
mark=$ENTRY_MARK asked=$ENTRY_ASKS signs=$ENTRY_SIGNS
unset ENTRY_MARK ENTRY_ASKS ENTRY_SIGNS
say() { printf '\036%s:%s\036' "$mark" "$1"; }
if ! command -v -- "$1" >/dev/null 2>&1; then
    say missing
    exit 127
fi
mkdir -p "$signs" "$PADDOCK_CHECKPOINT_DIR" "$HOME" 2>/dev/null
# A program that never heard of these signals must not die of them.
trap '' USR1 USR2
"$@" </dev/null &
agent=$!
trap 'kill -TERM "$agent" 2>/dev/null' TERM
say begun

caught() { # whether the agent has a handler for the signal of this number
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$agent/status" 2>/dev/null)
    low=$(printf '%s' "${mask:-0}" | tail -c 8)
    [ $(( (0x$low >> ($1 - 1)) & 1 )) -eq 1 ]
}
is_node() { case "$(readlink "/proc/$agent/exe" 2>/dev/null)" in */node | */nodejs) true ;; *) false ;; esac; }

attend() {
    soft='' request='' signalled='' declined='' looks=0
    while sleep 1; do
        asks=''
        read -r asks <"$asked" || [ -n "$asks" ] || continue
        case " $asks " in *' soft-timeout '*)
            if [ -z "$soft" ]; then
                soft=1
                : >"$PADDOCK_SOFT_TIMEOUT"
                # To Node this signal means: open a debugger.
                if caught 10 && ! is_node; then kill -USR1 "$agent" 2>/dev/null; fi
            fi ;;
        esac
        case " $asks " in *' checkpoint '*)
            if [ -z "$request" ]; then
                request=1
                rm -f "$PADDOCK_CHECKPOINT_WRITTEN"
                : >"$PADDOCK_CHECKPOINT_REQUEST"
            fi
            if [ -e "$PADDOCK_CHECKPOINT_WRITTEN" ]; then
                rm -f "$PADDOCK_CHECKPOINT_REQUEST" "$PADDOCK_CHECKPOINT_WRITTEN"
                say written
                return
            fi
            looks=$((looks + 1))
            if [ -z "$signalled" ] && caught 12; then
                signalled=1
                kill -USR2 "$agent" 2>/dev/null
            elif [ -z "$signalled$declined" ] && [ "$looks" -ge 3 ]; then
                # It may be just starting; after this it knows nothing of checkpoints.
                declined=1
                say declined
            fi ;;
        esac
    done
}
attend &
attendant=$!
code=0
while :; do
    wait "$agent"
    code=$?
    # A trap ends the wait, too: only who was waited for is gone.
    kill -0 "$agent" 2>/dev/null || break
done
kill "$attendant" 2>/dev/null
exit "$code"
