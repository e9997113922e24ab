#!/bin/sh
# Mutation tests of one module or folder ($1), or of all in modules.txt: mutmut over each with the tests
# that judge it, then what survived. BIN is where mutmut is, JOBS how many mutants are tried at once.
set -eu
wanted=${1:-}
grep '^[a-z]' tests/mutants/modules.txt | while read -r module tests; do
    case "$wanted" in
        "" | "$module") target=$module ;;
        "$module"/*) target=$wanted ;;
        *) continue ;;
    esac
    # src/accelwatch/fleet/merge.py -> accelwatch.fleet.merge
    name=$(echo "${target%.py}" | cut -d/ -f2- | tr / .)
    PYTEST_ADDOPTS="-o 'testpaths=$tests'" nice -n 15 \
        "$BIN/mutmut" run --max-children "${JOBS:-2}" "$name.*" </dev/null
done
"$BIN/mutmut" results --all true | awk -f tests/mutants/score.awk
