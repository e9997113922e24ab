#!/bin/sh
# Mutation tests of one module or folder ($1), or of all in modules.txt: judge.py tries the mutants of each
# with the tests that judge it; then what survived. BIN is where mutmut is; JOBS, SAMPLE, ALL: see judge.py.
set -eu
wanted=${1:-}
failed=
# What is asked for is judged by the entry for it or for the nearest folder around it, and by those below it.
judged=$(awk -v wanted="$wanted" '
    !/^[a-z]/ { next }
    wanted == "" || $1 == wanted || index($1, wanted "/") == 1 { print; judged = 1; next }
    index(wanted, $1 "/") == 1 && length($1) > length(nearest) { nearest = $1; $1 = wanted; around = $0 }
    END { if (!judged) print around }' tests/mutants/modules.txt)
[ -n "$judged" ] || { echo "tests/mutants/modules.txt has no tests for $wanted" >&2; exit 1; }
while read -r target tests; do
    # shellcheck disable=SC2086 # several tests
    PYTHONPATH=tests nice -n 19 "$BIN/python" tests/mutants/verdict.py "$target" $tests </dev/null || failed=1
done <<END
$judged
END
"$BIN/mutmut" results --all true | awk -v wanted="$wanted" -f tests/mutants/score.awk
[ -z "$failed" ]
