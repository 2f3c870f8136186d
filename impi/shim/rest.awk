# SPDX-License-Identifier: BSD-3-Clause
# From another MPI's preprocessed mpi.h: a definition of each function that takes a communicator, which
# refuses one that spans clients. They are weak: what libimpi has itself comes before them. So nothing
# that an MPI has more than libimpi knows of works on a part of such a communicator in silence.
BEGIN {
    # These look at what the process itself has.
    split("Attr_delete Attr_get Attr_put Comm_c2f Comm_call_errhandler Comm_delete_attr " \
          "Comm_get_errhandler Comm_get_info Comm_get_name Comm_set_attr Comm_set_errhandler " \
          "Comm_set_info Comm_set_name Comm_toint Errhandler_get Errhandler_set", word, " ")
    for (i in word) {
        is_local["MPI_" word[i]] = 1
    }
    print "#include \"shim/shim.h\""
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
    printf "    return pli_shim_span_find(%s) != NULL ? pli_shim_refuse(%s, PLI_SHIM_CANNOT(\"%s\"))\n", comm, comm, name
    printf "                                      : PLI_SHIM_OUTSIDE(P%s(%s));\n}\n", name, args
}

END {
    gsub(/[ \t]+/, " ", text)
    while (match(text, /[^A-Za-z0-9_]int MPIX?_[A-Za-z0-9_]+ ?\([^()]*\)/)) {
        whole = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        at = index(whole, "(")
        name = substr(whole, 5, at - 5)
        sub(/ +$/, "", name)
        one(name, substr(whole, at + 1))
    }
}
