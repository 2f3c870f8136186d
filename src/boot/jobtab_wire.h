// SPDX-License-Identifier: BSD-3-Clause
// What a job shows to others on the host: the jobs it is connected to, the ports it has open and
// the names it has published. In the node memory; a process that may open that may read it.
#ifndef PLI_BOOT_JOBTAB_WIRE_H
#define PLI_BOOT_JOBTAB_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    PLI_JOBTAB_N_JOB = 128, // jobs at a time; number 0 is the job itself
    PLI_JOBTAB_N_PORT = 4096,
    PLI_JOBTAB_N_NAME = 1024,
    PLI_JOBTAB_SERVICE = 256, // longest name of a service, with its zero
    PLI_JOBTAB_PORT = 1024    // longest name of a port, with its zero
};

// Another job, under the number by which this one knows it: messages that come from there bear it.
struct pli_jobtab_job {
    _Atomic uint64_t job; // upper half of its ids; 0: free
    uint32_t launcher;    // process that keeps its memory
    uint32_t memory;      // and the descriptor it has there
    uint64_t born;        // start of that process, by the kernel's clock
    uint32_t mine;        // the number this job has over there
    uint32_t spare;
};
_Static_assert(sizeof(struct pli_jobtab_job) == 32, "shared with other processes");

struct pli_jobtab_port {
    _Atomic uint64_t cookie; // random, in the port's name; 0: free
    uint32_t owner;          // index of the process that opened it, or last accepted at it
    uint32_t ep;             // and which of its endpoints
};
_Static_assert(sizeof(struct pli_jobtab_port) == 16, "shared with other processes");

struct pli_jobtab_name {
    _Atomic uint32_t is_used;
    uint32_t owner; // index of the process that published it
    char service[PLI_JOBTAB_SERVICE];
    char port[PLI_JOBTAB_PORT];
};
_Static_assert(sizeof(struct pli_jobtab_name) == 1288, "shared with other processes");

struct pli_jobtab_table {
    uint32_t spare;
    _Atomic uint32_t n_port; // ports ever used, names ever used
    _Atomic uint32_t n_name;
    _Atomic uint32_t n_link; // connections to other jobs that were ever made
    unsigned char owner[48]; // the lock of the process that changes it now, see node_lock.h
    struct pli_jobtab_job jobs[PLI_JOBTAB_N_JOB];
    struct pli_jobtab_port ports[PLI_JOBTAB_N_PORT];
    struct pli_jobtab_name names[PLI_JOBTAB_N_NAME];
};
_Static_assert(sizeof(struct pli_jobtab_table) ==
                   64 + 32 * PLI_JOBTAB_N_JOB + 16 * PLI_JOBTAB_N_PORT + 1288 * PLI_JOBTAB_N_NAME,
               "shared with other processes");

#endif
