# SPDX-License-Identifier: BSD-3-Clause
# From another MPI's preprocessed mpi.h: a definition of each function that takes a communicator, which
# refuses one that spans clients. They are weak: what libimpi has itself comes before them. So nothing
# that an MPI has more than libimpi knows of works on a part of such a communicator in silence.
# One for large counts (MPI_Send_c) calls the one for int instead, if what it is given fits (shim_counts.h).
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
    if (name ~ /_c$/ && (base in is_there)) {
        narrow(name, base, n, part, args, comm)
        return
    }
    printf "    return pli_shim_span_find(%s) != NULL ? pli_shim_refuse(%s, PLI_SHIM_CANNOT(\"%s\"))\n", comm, comm, name
    printf "                                      : PLI_SHIM_OUTSIDE(P%s(%s));\n}\n", name, args
}

# The body of a function for large counts. Where there is a root, the counts of its side of a gather or scatter are
# looked at nowhere else; those of a send in place, nowhere.
function narrow(name, base, n, part, args, comm,    i, arg, all, request, root, side, after, when)
{
    root = request = "NULL"
    for (i = 1; i <= n; i++) {
        if (part[i] ~ /^ *int +root$/) {
            root = "&root"
        } else if (part[i] ~ /MPI_Request *\* *request$/) {
            request = "request"
        }
    }
    printf "    struct shim_counts l;\n    if (!pli_shim_counts_begin(&l, %s, %s)) {\n", comm, root
    printf "        return PLI_SHIM_OUTSIDE(P%s(%s));\n    }\n", name, args
    all = after = ""
    for (i = 1; i <= n; i++) {
        match(part[i], /[A-Za-z0-9_]+$/)
        arg = substr(part[i], RSTART, RLENGTH)
        side = arg ~ /^s/ ? "PLI_SHIM_COUNTS_SEND" : "PLI_SHIM_COUNTS_RECV"
        side = base ~ /Scatterv|scatterv/ && arg == "displs" ? "PLI_SHIM_COUNTS_SEND" : side
        when = "true"
        if (root != "NULL" && ((base ~ /[Gg]ather/ && (arg ~ /^recv/ || arg == "displs")) || (base ~ /_?[Ss]catter/ && (arg ~ /^send/ || arg == "displs")))) {
            when = "l.is_root"
        } else if (side == "PLI_SHIM_COUNTS_SEND" && args ~ /^sendbuf/ && root == "NULL") {
            when = "sendbuf != MPI_IN_PLACE"
        }
        if (part[i] ~ /MPI_Count *\*/) {
            printf "    int %s_ = %s;\n", arg, arg == "position" ? "pli_shim_counts_int(&l, true, *position)" : "0"
            after = after "    *" arg " = " arg "_;\n"
            arg = "&" arg "_"
        } else if (part[i] ~ /MPI_Count/ && is_list[i]) {
            printf "    const int *%s_ = pli_shim_counts_counts(&l, %s, %s, %s);\n", arg, when, reach(base, side), arg
            arg = arg "_"
        } else if (part[i] ~ /MPI_Aint/ && is_list[i] && base !~ /eighbor_alltoallw/) {
            printf "    const int *%s_ = pli_shim_counts_places(&l, %s, %s, %s);\n", arg, when, reach(base, side), arg
            arg = arg "_"
        } else if (part[i] ~ /MPI_Count/) {
            printf "    int %s_ = pli_shim_counts_int(&l, %s, %s);\n", arg, when, arg
            arg = arg "_"
        }
        all = all (i > 1 ? ", " : "") arg
    }
    printf "    int rc = pli_shim_counts_check(&l);\n    rc = rc == MPI_SUCCESS ? %s(%s) : pli_shim_end(%s, rc);\n", base, all, comm
    printf "%s    pli_shim_counts_end(&l, rc, %s);\n    return rc;\n}\n", after, request
}

# How long the lists of a side are.
function reach(base, side)
{
    return base ~ /eighbor/ ? side : base ~ /educe_scatter/ ? "PLI_SHIM_COUNTS_OWN" : "PLI_SHIM_COUNTS_PEERS"
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
