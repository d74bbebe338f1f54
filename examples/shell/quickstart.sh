#!/bin/bash
# A sandbox, a command, a file, a snapshot: with curl and jq. III_SANDBOX_URL names the server, III_SANDBOX_TOKEN its token.
set -euo pipefail
url=${III_SANDBOX_URL:-http://localhost:3111}/sandbox

# call METHOD PATH [BODY]: prints the answer; an error goes to standard error and ends the script.
call() {
    curl -sS --fail-with-body -X "$1" "$url$2" ${III_SANDBOX_TOKEN:+-H "Authorization: Bearer $III_SANDBOX_TOKEN"} \
        -H 'Content-Type: application/json' ${3:+-d "$3"}
}

id=$(call POST /sandboxes '{"image":"python","memory":256,"timeout":600}' | jq -r .id)
trap 'call DELETE /sandboxes/$id >/dev/null' EXIT # also when something below fails

call POST "/sandboxes/$id/exec" '{"command":["python3","-c","print(6 * 7)"]}' | jq -r '"exec: \(.stdout | rtrimstr("\n"))"'
# → exec: 42

call POST "/sandboxes/$id/files/write" '{"path":"note.txt","content":"first"}' >/dev/null
snapshot=$(call POST "/sandboxes/$id/snapshots" '{"name":"first"}' | jq -r .id)
call POST "/sandboxes/$id/files/write" '{"path":"note.txt","content":"second"}' >/dev/null
call POST "/sandboxes/$id/snapshots/restore" "{\"snapshotId\":\"$snapshot\"}" >/dev/null
call POST "/sandboxes/$id/files/read" '{"path":"note.txt"}' | jq -r '"file: \(.)"'
# → file: first

call DELETE "/snapshots/$snapshot" >/dev/null
