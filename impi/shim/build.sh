#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds libimpi for another MPI:  build.sh MPICC OUTPUT
# e.g.                             build.sh mpicc.mpich /opt/pliant/lib/libimpi-mpich.so
# Needs that MPI's compiler wrapper (MPI-3 or later) and the impi folder this script is in.
set -eu
if [ $# -ne 2 ]; then
    sed -n 's/^# //p' "$0" | sed 1d >&2
    exit 2
fi
impi=$(cd "$(dirname "$0")/.." && pwd)
rest=$(mktemp -d)
trap 'rm -rf "$rest"' EXIT
echo '#include <mpi.h>' > "$rest"/mpi.c
"$1" -E -P "$rest"/mpi.c > "$rest"/mpi.i
awk -f "$impi"/shim/rest.awk "$rest"/mpi.i > "$rest"/shim_rest.c
"$1" -std=gnu17 -O2 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra ${CFLAGS-} -D_GNU_SOURCE \
    -I "$impi" -I "$impi"/.. "$impi"/shim/shim*.c "$rest"/shim_rest.c "$impi"/agent/agent_link.c "$impi"/coll/*.c \
    "$impi"/wire/*.c "$impi"/engine/impi_idmap.c "$impi"/engine/impi_log.c "$impi"/engine/impi_sock.c \
    -o "$2" -ldl -pthread
