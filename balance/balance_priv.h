// SPDX-License-Identifier: BSD-3-Clause
// What the files of the library share.
#ifndef PLI_BALANCE_PRIV_H
#define PLI_BALANCE_PRIV_H

#include "mpix_balance.h"

#include <stddef.h>
#include <stdint.h>

enum { PLI_BALANCE_MAX_PART = 16, PLI_BALANCE_MAX_NAME = 63 };

struct pli_balance_part {
    char name[PLI_BALANCE_MAX_NAME + 1];
    MPIX_Balance_state calls;
    void *arg;
};

struct pli_balance_ep {
    MPI_Comm comm;
    double load;     // as reported
    double measured; // seconds of processor time; see balance_measure.c
    void *data[PLI_BALANCE_MAX_PART];
};

struct pli_balance {
    MPI_Comm parent;  // the user's; its error handler judges
    MPI_Comm private; // our own messages; errors return
    MPI_Info info;
    int rank, size;
    int n_ep;   // all endpoints together: never changes
    int *owner; // by rank of an endpoint: the process that has it
    int n_here;
    int *ranks;                   // of those that are here, ascending
    struct pli_balance_ep **here; // in the same order
    double weight;
    double gain; // the largest load must fall by this factor to be worth a move
    int is_measuring;
    MPIX_Balance_partition partition; // NULL: our own
    void *partition_arg;
    int n_part;
    struct pli_balance_part part[PLI_BALANCE_MAX_PART];
};

// Makes an error code of a standard class whose text is the sentence, and calls the error handler
// of the parent with it: the call returns the code, or the handler ends the program.
int pli_balance_error(const struct pli_balance *b, int class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The same with a code that has its text already.
int pli_balance_error_raise(const struct pli_balance *b, int code);
// Makes a code with its sentence without calling the error handler.
int pli_balance_error_code(int class, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// All data of an endpoint as bytes. The error handler is not called.
int pli_balance_image_size(const struct pli_balance *b, const struct pli_balance_ep *ep,
                           MPI_Count *bytes);
int pli_balance_image_pack(const struct pli_balance *b, const struct pli_balance_ep *ep, void *buf,
                           MPI_Count bytes);
int pli_balance_image_unpack(const struct pli_balance *b, struct pli_balance_ep *ep,
                             const void *buf, MPI_Count bytes);
// A sum over the names of the registered state: all processes must have the same.
uint64_t pli_balance_image_names(const struct pli_balance *b);
void pli_balance_image_drop(const struct pli_balance *b, struct pli_balance_ep *ep);

// Computes the best contiguous shares: first_out[0..n_process] so that the largest load by weight
// is as small as can be, with as few moves away from first as that allows.
void pli_balance_partition(const double *load, int n, const double *weight, int n_process,
                           const int *first, int *first_out);
// The largest load by weight where endpoint i is at process owner[i]; infinite where a weight of 0
// has endpoints. sum: room for a number for each process.
double pli_balance_partition_load(const double *load, int n, const double *weight, int n_process,
                                  const int *owner, double *sum);

// Puts a new map into effect, or fails in every process and changes nothing.
int pli_balance_migrate(struct pli_balance *b, int n_ep, const int *owner, MPI_Count *bytes_out);
// The worst code of all processes: this one's own if it has one, else one whose text says what
// another process failed to do.
int pli_balance_migrate_agree(const struct pli_balance *b, int mine, const char *what);

// From now on the calling thread works for an endpoint: its processor time counts as load of it.
void pli_balance_measure_begin(struct pli_balance *b, struct pli_balance_ep *ep);
// No thread works for endpoints of this balance any more; what they did is counted.
void pli_balance_measure_end(struct pli_balance *b);

#endif
