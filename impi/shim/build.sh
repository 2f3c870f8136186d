#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds libimpi for another MPI:  build.sh MPICC OUTPUT
# e.g.                             build.sh mpicc.mpich /opt/pliant/lib/libimpi-mpich.so
# With an mpicc whose mpi.h is that of the MPI 5.0 standard ABI, the result is for all libraries that have it.
# Needs that MPI's compiler wrapper (MPI-3 or later) and the impi folder this script is in.
set -eu
if [ $# -ne 2 ]; then
    sed -n 's/^# //p' "$0" | sed 1d >&2
    exit 2
fi
impi=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
cd "$work"
echo '#include <mpi.h>' > mpi.c
# shellcheck disable=SC2086 # several words
"$1" -E -P ${CFLAGS-} mpi.c > mpi.i
awk -f "$impi"/shim/rest.awk mpi.i > shim_rest.c
made=
link=$1
if grep -q MPI_ABI_Comm mpi.i; then # for any library with the standard ABI: it is linked with none
    link=${CC-cc}
fi
# The Fortran library of Open MPI calls PMPI_ functions, and one above the standard ABI may: be in front of those too.
if grep -q -e ompi_communicator_t -e MPI_ABI_Comm mpi.i; then
    awk -f "$impi"/shim/native.awk mpi.i > shim_native.h
    awk -v source=1 -f "$impi"/shim/native.awk mpi.i > shim_native.c
    made="-include shim_native.h shim_native.c"
fi
# shellcheck disable=SC2086 # several words
"$1" -std=gnu17 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra ${CFLAGS-} -D_GNU_SOURCE -c -I "$impi" -I "$impi"/.. -I "$impi"/../src -I . \
    $made "$impi"/shim/shim*.c shim_rest.c "$impi"/agent/agent_link.c "$impi"/agent/agent_memory.c "$impi"/coll/*.c "$impi"/wire/*.c \
    "$impi"/engine/impi_heap.c "$impi"/engine/impi_idmap.c "$impi"/engine/impi_log.c "$impi"/engine/impi_poll.c "$impi"/engine/impi_sock.c
if [ -n "$made" ]; then
    nm -g --defined-only ./*.o | awk '$3 ~ /^MPIX?_/ { print "P" $3 " = " $3 ";" }' | sort -u > names.ld
else
    : > names.ld
fi
# shellcheck disable=SC2086
"$link" -shared ${CFLAGS-} ./*.o names.ld -o out.so -ldl -pthread
cp out.so "$out.new" && mv "$out.new" "$out" # a program that starts meanwhile has the whole of one of them
