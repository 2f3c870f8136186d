# SPDX-License-Identifier: BSD-3-Clause
# From another MPI's preprocessed mpi.h: a definition of each function that takes a communicator, which
# refuses one that spans clients. They are weak: what libimpi has itself comes before them. So nothing
# that an MPI has more than libimpi knows of works on a part of such a communicator in silence.
# One for large counts (MPI_Send_c) calls the one for int instead, with a datatype of many elements where there are more (shim_counts.h).
BEGIN {
    # These look at what the process itself has.
    split("Attr_delete Attr_get Attr_put Comm_c2f Comm_call_errhandler Comm_delete_attr " \
          "Comm_get_errhandler Comm_get_info Comm_get_name Comm_set_attr Comm_set_errhandler " \
          "Comm_set_info Comm_set_name Comm_toint Errhandler_get Errhandler_set", word, " ")
    for (i in word) {
        is_local["MPI_" word[i]] = 1
    }
    print "#include \"shim/shim_counts.h\""
    print "#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\""
}

{
    text = text " " $0
}

# Whether every count is followed by the datatype of its elements.
function is_paired(n, part,    i)
{
    for (i = 1; i <= n; i++) {
        if (part[i] ~ /MPI_Count/ && (is_list[i] || part[i] ~ /\*/ || i == n || part[i + 1] !~ /^ *MPI_Datatype +[A-Za-z0-9_]+$/)) {
            return 0
        }
    }
    return 1
}

# One prototype: its name, and what is between the parentheses.
function one(name, params,    n, i, part, args, comm)
{
    n = split(params, part, ",")
    args = comm = ""
    for (i = 1; i <= n; i++) {
        is_list[i] = part[i] ~ /\[/
        gsub(/\[[^]]*\]/, "", part[i])
        sub(/ +$/, "", part[i])
        is_comm = part[i] ~ /^ *MPI_Comm +[A-Za-z0-9_]+$/
        match(part[i], /[A-Za-z0-9_]+$/)
        arg = substr(part[i], RSTART, RLENGTH)
        args = args (i > 1 ? ", " : "") arg
        if (is_comm && comm == "") {
            comm = arg
        }
    }
    if (comm == "" || name in is_local || name in is_done) {
        return
    }
    is_done[name] = 1
    printf "PLI_SHIM_API __attribute__((weak)) int %s(%s)\n{\n    PLI_SHIM_ENTER;\n", name, params
    base = substr(name, 1, length(name) - 2)
    if (name ~ /_c$/ && (base in is_there) && is_paired(n, part)) {
        narrow(name, base, n, part, args, comm)
        return
    }
    printf "    return pli_shim_span_find(%s) != NULL ? pli_shim_refuse(%s, PLI_SHIM_CANNOT(\"%s\"))\n", comm, comm, name
    printf "                                      : PLI_SHIM_OUTSIDE(P%s(%s));\n}\n", name, args
}

# The body of a function for large counts: each count with the datatype behind it becomes a pair for the function for int.
function narrow(name, base, n, part, args, comm,    i, arg, type, all, drop)
{
    printf "    if (pli_shim_span_find(%s) == NULL) {\n        return PLI_SHIM_OUTSIDE(P%s(%s));\n    }\n    int rc = MPI_SUCCESS;\n", comm, name, args
    all = drop = type = ""
    for (i = 1; i <= n; i++) {
        match(part[i], /[A-Za-z0-9_]+$/)
        arg = substr(part[i], RSTART, RLENGTH)
        if (type != "") {
            printf "    struct shim_pair %s_;\n    rc = pli_shim_counts_pair(&%s_, %s, %s) != MPI_SUCCESS ? MPI_ERR_TYPE : rc;\n", type, type, type, arg
            drop = drop "    pli_shim_counts_drop(&" type "_);\n"
            all = all ", " type "_.count, " type "_.type"
            type = ""
        } else if (part[i] ~ /MPI_Count/) {
            type = arg
        } else {
            all = all ", " arg
        }
    }
    printf "    rc = rc == MPI_SUCCESS ? %s(%s) : pli_shim_end(%s, rc);\n%s    return rc;\n}\n", base, substr(all, 3), comm, drop
}

END {
    gsub(/[ \t]+/, " ", text)
    gsub(/ typedef int /, " typedef_int ", text) # the type of a function is none
    rest = text
    while (match(rest, /[^A-Za-z0-9_]int MPIX?_[A-Za-z0-9_]+ ?\(/)) {
        name = substr(rest, RSTART + 5, RLENGTH - 6)
        sub(/ +$/, "", name)
        is_there[name] = 1
        rest = substr(rest, RSTART + RLENGTH)
    }
    while (match(text, /[^A-Za-z0-9_]int MPIX?_[A-Za-z0-9_]+ ?\([^()]*\)/)) {
        whole = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        at = index(whole, "(")
        name = substr(whole, 5, at - 5)
        sub(/ +$/, "", name)
        one(name, substr(whole, at + 1))
    }
}
