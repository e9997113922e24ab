#!/bin/sh
# Mutation tests of one module or folder ($1), or of all in modules.txt: verdict.py tries the mutants of each
# with the tests of its entry; then what survived. BIN is where mutmut is; JOBS, SAMPLE, ALL: see verdict.py.
set -eu
wanted=${1:-}
failed=
# What is asked for is tried with the tests of its own entry or else of the nearest folder around it, what has an
# entry below it with its own.
judged=$(awk -v wanted="$wanted" '
    !/^[a-z]/ { next }
    wanted == "" || $1 == wanted || index($1, wanted "/") == 1 { print; exact = exact || $1 == wanted; next }
    index(wanted, $1 "/") == 1 && length($1) > length(nearest) { nearest = $1; $1 = wanted; around = $0 }
    END { if (!exact) print around }' tests/mutants/modules.txt)
[ -n "$judged" ] || { echo "tests/mutants/modules.txt has no tests for $wanted" >&2; exit 1; }
while read -r target tests; do
    [ -n "$target" ] || continue
    # shellcheck disable=SC2086 # several tests
    PYTHONPATH=tests nice -n 19 "$BIN/python" tests/mutants/verdict.py "$target" $tests </dev/null || failed=1
done <<END
$judged
END
"$BIN/mutmut" results --all true | awk -v wanted="$wanted" -f tests/mutants/score.awk
[ -z "$failed" ]
