// SPDX-License-Identifier: BSD-3-Clause
// The process sets of a job, once per host, in the node memory: a table to which sets are only
// ever added. An entry is complete before it is counted, and its name and members never change
// afterwards, so readers take no lock. Names are found by lists of the sets whose names have the
// same hash, newest first. Sparse like the rest of the memory: a table of few sets is a few pages.
//
// A set that was freed stays in the table, where nobody finds it, until there is no room for
// another one. Then all others are copied into the second half of the memory, which is the table
// from then on: what a reader has in view stays as it is until the half is needed once more.
//
// The versions of the world, of which there is no end, are not in the table but in a ring: the
// newest ones are kept. A reader finds out afterwards whether what it has read was still there.
#ifndef PLI_BOOT_PSET_WIRE_H
#define PLI_BOOT_PSET_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    PLI_PSET_N_SET = 32768,            // sets a job can have, versions of the world apart
    PLI_PSET_N_RUN = 8 * 32768,        // and runs, all together; as many of versions of the world
    PLI_PSET_N_TEXT = 2 * 1024 * 1024, // and bytes of names
    PLI_PSET_N_LIST = 4096,            // lists of sets by their names
    PLI_PSET_N_WORLD = 4096            // versions of the world that are kept
};

// Processes first, first + step, ... n of them, by their index in the job. The runs of a set ascend
// and do not interleave.
struct pli_pset_run {
    uint32_t first, step, n;
};

// Where a set comes from. Numbers are appended and never reused.
enum pli_pset_origin {
    PLI_PSET_HOST = 1,     // the processes of one host
    PLI_PSET_HARDWARE = 2, // those bound to one part of a machine
    PLI_PSET_APP = 3,      // a part of an MPMD command line
    PLI_PSET_USER = 4,     // mpiexec --pset
    PLI_PSET_MADE = 5      // by a process, while the job runs
};

struct pli_pset_entry {
    uint64_t hash;              // of the name
    uint32_t name_at, name_len; // in text, with a zero after it
    uint32_t run_at, n_run;
    uint32_t n;            // processes in it
    uint32_t origin;       // enum pli_pset_origin
    uint32_t version;      // 1, or the number after the @ of its name
    uint32_t maker;        // index of the process that made it, UINT32_MAX: the launcher
    _Atomic uint32_t next; // an older one in its list, + 1; 0: none
    uint32_t serial; // 1, 2, ... in the order in which sets were made; a half has them ascending
    // Of a set that programs made; it is freed when nobody has it any more.
    _Atomic uint32_t n_maker; // makings by processes of this host that were not freed
    _Atomic uint32_t marks;   // enum pli_pset_mark
};
_Static_assert(sizeof(struct pli_pset_entry) == 56, "shared with other processes");

enum pli_pset_mark {
    PLI_PSET_ELSEWHERE = 1, // a process of another host has made it
    PLI_PSET_TOLD = 2       // other hosts know that processes of this one have made it
};

// mpi://WORLD@number. Its runs are used in turn, without an end: at run_at modulo their number.
struct pli_pset_world {
    uint64_t run_at;
    uint32_t n_run, n;
    uint32_t number, spare;
    char name[24];
};
_Static_assert(sizeof(struct pli_pset_world) == 48, "shared with other processes");

struct pli_pset_ring {
    _Atomic uint32_t oldest, newest; // numbers that are kept; 0: there is none
    uint64_t n_run;                  // that were ever used; guarded by the table's owner
    struct pli_pset_world worlds[PLI_PSET_N_WORLD]; // at number modulo their number
    struct pli_pset_run runs[PLI_PSET_N_RUN];
};

struct pli_pset_half {
    _Atomic uint32_t n_set; // entries that count
    uint32_t n_run, n_text; // in use; guarded by the table's owner
    uint32_t spare;
    _Atomic uint32_t lists[PLI_PSET_N_LIST]; // the newest set, + 1; 0: none
    struct pli_pset_entry sets[PLI_PSET_N_SET];
    struct pli_pset_run runs[PLI_PSET_N_RUN];
    char text[PLI_PSET_N_TEXT];
};

struct pli_pset_table {
    _Atomic uint32_t turn;     // the table is half turn / 2 modulo 2; odd: it is being copied
    _Atomic uint32_t n_change; // sets made and freed by processes of this host
    uint32_t n_made;           // the last serial; guarded by owner
    uint32_t spare;
    unsigned char owner[48]; // the lock of the process that adds one now, see node_lock.h
    struct pli_pset_half halves[2];
    struct pli_pset_ring ring;
};
_Static_assert(sizeof(struct pli_pset_table) ==
                   64 +
                       2 * (16 + 4 * PLI_PSET_N_LIST + 56 * PLI_PSET_N_SET + 12 * PLI_PSET_N_RUN +
                            PLI_PSET_N_TEXT) +
                       16 + 48 * PLI_PSET_N_WORLD + 12 * PLI_PSET_N_RUN,
               "shared with other processes");

#endif
