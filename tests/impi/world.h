// SPDX-License-Identifier: BSD-3-Clause
// What the files of the test program world share.
#ifndef PLI_TESTS_IMPI_WORLD_H
#define PLI_TESTS_IMPI_WORLD_H

#include <mpi.h>

#define CHECK(cond) ((cond) ? (void)0 : world_fail(__FILE__, __LINE__, #cond))

void world_fail(const char *file, int line, const char *what); // ends the job

void world_reductions(MPI_Comm comm);
void world_moves(MPI_Comm comm);
void world_matched_probes(int me, int n);
void world_busy(int me, int n);
void world_large_element(int me, int n);
void world_packed(int me, int n);
void world_large(int me, int n);
void world_longs(int me, int n);
void world_overflow(int me, int n);     // longs have 4 bytes between clients
void world_refuse_later(int me, int n); // a client has no nonblocking collectives
void world_windows(int me, int n);
void world_files(int me, int n);
void world_own(int me, int n); // the world has several clients
void world_later(int me, int n);
void world_persistent_coll(int me, int n); // all clients have them
void world_threads(int me);                // needs MPI_THREAD_MULTIPLE
void world_across(MPI_Comm inter);         // between even and odd ranks of the world
void world_across_parts(MPI_Comm inter);   // the same; makes others of it

// Whether the job is part of a world, and not one that its MPI runs by itself.
int world_is_joined(void);
// Whether its MPI is another than Pliant MPI, or Pliant MPI taken for another by libimpi_abi.
int world_is_foreign(void);

#endif
