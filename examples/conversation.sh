#!/usr/bin/env bash
# Tells an avatar three things in one session, then asks about them in another. Needs curl and a running `mnemesh up`.
# Usage: examples/conversation.sh [URL]        MNEMESH_API_KEY is sent when it is set.
set -euo pipefail

url=${1:-http://127.0.0.1:8080}
headers=(-H 'Content-Type: application/json')
if [ -n "${MNEMESH_API_KEY:-}" ]; then
    headers+=(-H "Authorization: Bearer $MNEMESH_API_KEY")
fi

first_uuid() { grep -oE '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' | head -n 1; }

open_session() {
    curl -sS --fail-with-body "${headers[@]}" -d "{\"avatarId\":\"$avatar\"}" "$url/v1/sessions" | first_uuid
}

say() { # session, text
    echo "you: $2"
    curl -sSN --fail-with-body "${headers[@]}" -H 'Accept: text/event-stream' -d "{\"text\":\"$2\"}" \
        "$url/v1/sessions/$1:converse" | sed -nE 's/^data: .*"delta": ?\{"text": ?"(.*)"\}.*$/\1/p' | tr -d '\n'
    echo
}

learned() { # key; learning follows the answer within a moment
    for _ in $(seq 50); do
        curl -sS "${headers[@]}" "$url/v1/memory/facts?key=$1" | grep -q '"value"' && return
        sleep 0.2
    done
    echo "nothing was learned about: $1" >&2
    exit 1
}

avatar=$(curl -sS --fail-with-body "${headers[@]}" "$url/v1/avatars" | first_uuid)

session=$(open_session)
say "$session" "My name is Olena."
say "$session" "I moved to Lviv with my dog Biscuit."
say "$session" "I'm allergic to peanuts."

learned allergy

echo "--- a new session"
session=$(open_session)
say "$session" "What should I keep in mind when we book a restaurant?"
