# mpiinfo: its options, and that its lists agree with each other and with the library.
. "$(dirname "$0")/t.bash"

must_say "^Pliant MPI [0-9]+\.[0-9]+\.[0-9]+, MPI 5\.0, standard ABI" mpiinfo --version
must_say "^compiler +[A-Za-z]" mpiinfo --build
must_say "^network +tcp between hosts: PLIANT_NET=tcp" env PLIANT_NET=tcp mpiinfo --network
must_say "^network +ucx between hosts: PLIANT_NET=shm.ucx" env PLIANT_NET=shm+ucx mpiinfo --network
must_say "^ucx +(version|not there)" mpiinfo
must_say "^io_uring +(there; PLIANT_FILE_URING is never|not there: )" env PLIANT_FILE_URING=never mpiinfo
case $(uname -m) in x86_64) eager=8192 ;; *) eager=16384 ;; esac
must_say "^PLIANT_EAGER_MAX +$eager " mpiinfo --settings
must_say "^PLIANT_EAGER_MAX +2048 " env PLIANT_EAGER_MAX=2K mpiinfo --settings
must_say "did you mean PLIANT_EAGER_MAX" env PLIANT_EAGER_MAKS=1 mpiinfo --settings
must_say "functions +[0-9]+ of the [0-9]+" mpiinfo
must_say "MPI_Init: there" mpiinfo MPI_Init
must_say "usage: mpiinfo" mpiinfo --help
must_say "allreduce" mpiinfo --collectives
must_say "^  PLIANT_EAGER_MAX +integer; of this process" mpiinfo --cvars
must_say "^  PLIANT_CC +string; constant" mpiinfo --cvars
must_say "^  shm_eager_messages +counter, while started" mpiinfo --pvars
must_say "^  comm_sent_bytes +sum, while started, for each communicator" mpiinfo --pvars
must_say "^  wait_end .*requests, context, nanoseconds" mpiinfo --events
must_fail 2 "no option '--covfefe'" mpiinfo --covfefe
must_fail 1 "no C function 'MPI_Snd'" mpiinfo MPI_Snd
mpiinfo --settings | grep -q PLIANT_BOOT && fail "an internal setting is listed"

there=$(mpiinfo --functions | wc -l)
missing=$(mpiinfo --missing | wc -l)
must_say "^all +$there +$missing +$((there + missing))$" mpiinfo --coverage
[ "$there" -gt 0 ] || fail "no functions at all"
{ mpiinfo --functions; mpiinfo --missing; } | sort | uniq -d | grep . && fail "a function is both"

# What is exported is exactly what is there, in both forms; and what compiled UPC programs and the libraries
# with other MPIs' ABIs call, the recorder of --profile, and debuggers.
nm -D --defined-only "$BUILD_DIR/lib/libmpi_abi.so" | awk '{ print $NF }' | sed 's/@.*//' |
    grep -vE '^pli_(upc_|std_MPI|handle_(base|used)$|user_calls(_op|_errhandler)?$|observe_|debug_layout$|grequest_poll_by$|cursor_type_iov$)|^MPIR_dll_name$' | sort >exported
variables=$(sed -n 's/^variable \(MPI_[A-Z0-9_]*\).*/\1/p' "$(dirname "$0")/../../api/types.api")
{ mpiinfo --functions; mpiinfo --functions | sed 's/^MPI/PMPI/'; echo "$variables"; } | sort >wanted
diff wanted exported >difference || fail "exports differ from the API table: $(cat difference)"

# A write error is not silent.
must_fail 1 "standard output" sh -c 'mpiinfo --coverage >/dev/full'
