# Survivors one by one, then killed of those that ran, by module. Reads `mutmut results --all true`.
{
    status = $0; sub(/^[^:]*: /, "", status)
    module = $1; sub(/\.[^.]*:$/, "", module)
    if (status == "not checked") next
    ran[module]++
    if (status == "killed" || status == "timeout" || status == "caught by type check") killed[module]++
    else print
}
END {
    for (module in ran) printf "%s: %d of %d killed (%d %%)\n", module, killed[module], ran[module], 100 * killed[module] / ran[module]
}
