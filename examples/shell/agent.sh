#!/bin/bash
# What an agent does: variables that live between calls, streamed output, forks to try something, an error by its status.
set -euo pipefail
url=${III_SANDBOX_URL:-http://localhost:3111}/sandbox
auth=(${III_SANDBOX_TOKEN:+-H "Authorization: Bearer $III_SANDBOX_TOKEN"})
json=(-H 'Content-Type: application/json')

call() { curl -sS --fail-with-body "${auth[@]}" "${json[@]}" -X "$1" "$url$2" ${3:+-d "$3"}; }

id=$(call POST /sandboxes '{"image":"python","timeout":600}' | jq -r .id)
trap 'call DELETE /sandboxes/$id >/dev/null' EXIT

# A context keeps its variables.
context=$(call POST "/sandboxes/$id/interpret/contexts" '{"language":"python"}' | jq -r .id)
cell() { call POST "/sandboxes/$id/interpret/contexts/$context/execute" "$(jq -n --arg code "$1" '{code: $code, timeout: 30}')"; }
cell 'total = 40' >/dev/null
cell 'total + 2' | jq -r '"context: \(.results[0].data)"'
# → context: 42

# Streamed output: server-sent events, a line of JSON after "data: ".
curl -sSN "${auth[@]}" "${json[@]}" "$url/sandboxes/$id/exec/stream" -d '{"command":"for i in 1 2 3; do echo $i; sleep 0.1; done"}' |
    sed -un 's/^data: //p' | jq -r --unbuffered 'select(.type == "stdout") | "line: \(.data | rtrimstr("\n"))"'
# → line: 1
# → line: 3

# Two attempts from one state; the one that passes is told.
call POST "/sandboxes/$id/exec" '{"command":"echo \"test \\$(cat answer) = 42\" > check.sh"}' >/dev/null
answer=41
for try in $(call POST "/sandboxes/$id/fork" '{"count":2}' | jq -r '.sandboxes[].id'); do
    code=$(call POST "/sandboxes/$try/exec" "{\"command\":\"echo $answer > answer; sh check.sh\"}" | jq .exitCode)
    echo "attempt $answer: exit code $code"
    call DELETE "/sandboxes/$try" >/dev/null
    answer=$((answer + 1))
done
# → attempt 41: exit code 1
# → attempt 42: exit code 0

# An error has a status and a text; 504 is a command that took too long.
status=$(curl -s -o error.json -w '%{http_code}' "${auth[@]}" "${json[@]}" "$url/sandboxes/$id/exec" -d '{"command":"sleep 60","timeout":1}')
echo "status $status: $(jq -r .error error.json)"
rm error.json
# → status 504: command timed out after 1000 ms
