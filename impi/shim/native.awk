# SPDX-License-Identifier: BSD-3-Clause
# From another MPI's preprocessed mpi.h, for an MPI whose Fortran library calls the PMPI_ functions: a header by
# which libimpi reaches those through pointers, since it has functions of these names itself then.
# With -v source=1: the pointers, and what finds them when the library is loaded.
{
    text = text " " $0
}

END {
    while (match(text, /[^A-Za-z0-9_]PMPIX?_[A-Za-z0-9_]+ ?\(/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        sub(/ +$/, "", name)
        text = substr(text, RSTART + RLENGTH)
        if (!(name in seen)) {
            seen[name] = 1
            all[++n] = name
        }
    }
    if (!source) {
        print "#include <mpi.h>"
        print "#pragma GCC diagnostic push"
        print "#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\""
        for (i = 1; i <= n; i++) {
            printf "extern __typeof__(%s) *pli_native_%s;\n", all[i], all[i]
        }
        for (i = 1; i <= n; i++) {
            printf "#define %s pli_native_%s\n", all[i], all[i]
        }
        print "#pragma GCC diagnostic pop"
        exit
    }
    print "#include <dlfcn.h>"
    for (i = 1; i <= n; i++) {
        printf "__typeof__(pli_native_%s) pli_native_%s;\n", all[i], all[i]
    }
    print "__attribute__((constructor)) static void find(void)\n{"
    for (i = 1; i <= n; i++) {
        printf "    *(void **)&pli_native_%s = dlsym(RTLD_NEXT, \"%s\");\n", all[i], all[i]
    }
    print "}"
}
