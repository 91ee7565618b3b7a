#!/bin/sh
# Stands in for a coding agent: its prompt is a line of shell, a session is a directory in $HOME.
# coder.sh start|own|resume SESSION [MORE…] PROMPT; `own` makes up its session and says so.
how=$1 session=$2
shift 2
for prompt; do :; done
[ "$how" = own ] && session=own-$$ && echo "session id: $session"
at=$HOME/sessions/$session
if [ "$how" = resume ]; then
    [ -d "$at" ] || { echo "No conversation found with session ID: $session"; exit 1; }
else
    mkdir -p "$HOME/sessions" && mkdir "$at" || exit 9
    [ "$prompt" = - ] && prompt=$(cat)
    printf %s "$prompt" > "$at/prompt"
fi
echo "$PADDOCK_RUN_NAME $how $session $#" >> "$HOME/calls"
HOW=$how AT=$at exec sh "$at/prompt"
