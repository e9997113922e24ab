# Survivors one by one, then killed of those that ran, by module, of what is below the path `wanted`. Reads
# `mutmut results --all true`.
BEGIN {
    sub(/^src\//, "", wanted); sub(/\.py$/, "", wanted); sub(/\/__init__$/, "", wanted)
    gsub(/\//, ".", wanted)
}
{
    status = $0; sub(/^[^:]*: /, "", status)
    module = $1; sub(/\.[^.]*:$/, "", module)
    if (status == "not checked" || index(module ".", wanted) != 1) next
    ran[module]++
    if (status == "killed" || status == "timeout" || status == "caught by type check") killed[module]++
    else print
}
END {
    for (module in ran) {
        printf "%s: %d of %d killed (%d %%)\n", module, killed[module], ran[module], 100 * killed[module] / ran[module] | "sort"
    }
}
