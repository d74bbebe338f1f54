#!/bin/bash
# Grades programs in a folder: each in a sandbox of its own, from one prepared state, without network, with limits.
# usage: grader.sh CHECK.py SOLUTION.py... ; CHECK.py imports `solution` and ends with 0 when it is right.
set -euo pipefail
url=${III_SANDBOX_URL:-http://localhost:3111}/sandbox

call() {
    curl -sS "$url$2" -X "$1" ${III_SANDBOX_TOKEN:+-H "Authorization: Bearer $III_SANDBOX_TOKEN"} -H 'Content-Type: application/json' ${3:+-d "$3"}
}
put() { # SANDBOX FILE NAME
    jq -n --rawfile content "$2" --arg path "$3" '{path: $path, content: $content}' >"$folder/body"
    call POST "/sandboxes/$1/files/write" "@$folder/body" >/dev/null
}

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
if [ $# -lt 2 ]; then # nothing given: an example
    printf 'from solution import add\nassert add(2, 3) == 5\n' >"$folder/check.py"
    printf 'def add(a, b): return a + b\n' >"$folder/good.py"
    printf 'def add(a, b): return a - b\n' >"$folder/wrong.py"
    printf 'x = bytearray(10**9)\n' >"$folder/greedy.py"
    printf 'while True: pass\n' >"$folder/endless.py"
    set -- "$folder/check.py" "$folder"/{good,wrong,greedy,endless}.py
fi
check=$1
shift

base=$(call POST /sandboxes '{"image":"python","memory":128,"cpu":1,"pids":32,"timeout":600}' | jq -r .id)
put "$base" "$check" check.py
snapshot=$(call POST "/sandboxes/$base/snapshots" '{}' | jq -r .id)
call DELETE "/sandboxes/$base" >/dev/null

for solution; do
    box=$(call POST "/snapshots/$snapshot/clone" '{}' | jq -r .id)
    put "$box" "$solution" solution.py
    verdict=$(call POST "/sandboxes/$box/exec" '{"command":["python3","check.py"],"timeout":2}' |
        jq -r 'if .error then "time" elif .oomKilled then "memory" elif .exitCode == 0 then "pass" else "fail" end')
    call DELETE "/sandboxes/$box" >/dev/null
    echo "$(basename "$solution"): $verdict"
done
call DELETE "/snapshots/$snapshot" >/dev/null
# → good.py: pass
# → wrong.py: fail
# → greedy.py: memory
# → endless.py: time
