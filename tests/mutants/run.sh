#!/bin/sh
# Mutation tests of one module or folder ($1), or of all in modules.txt: judge.py tries the mutants of each
# with the tests that judge it; then what survived. BIN is where mutmut is; JOBS, SAMPLE, ALL: see judge.py.
set -eu
wanted=${1:-}
grep '^[a-z]' tests/mutants/modules.txt | while read -r module tests; do
    case "$wanted" in
        "" | "$module") target=$module ;;
        "$module"/*) target=$wanted ;;
        *) case "$module" in "$wanted"/*) target=$module ;; *) continue ;; esac ;;
    esac
    # shellcheck disable=SC2086 # several tests
    nice -n 19 "$BIN/python" tests/mutants/judge.py "$target" $tests </dev/null
done
"$BIN/mutmut" results --all true | awk -f tests/mutants/score.awk
