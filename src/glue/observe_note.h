// SPDX-License-Identifier: BSD-3-Clause
// What the checker of mpiexec --check asks the library: notes that travel beside messages, and what
// a datatype is made of.
#ifndef PLI_GLUE_OBSERVE_NOTE_H
#define PLI_GLUE_OBSERVE_NOTE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { PLI_OBSERVE_NOTE = 24 };                // bytes of a note: it fits into one cell
enum { PLI_OBSERVE_N_PARTS_TAG = 0x20000000 }; // tags from here on have no PLI_OBSERVE_PARTS

enum pli_observe_about {
    PLI_OBSERVE_MESSAGE, // sent before the message it belongs to, and found by its tag
    PLI_OBSERVE_VOID,    // the same note again: its message was refused or cancelled
    PLI_OBSERVE_COLL,    // found by the number of the collective
    PLI_OBSERVE_CYCLE,   // of trace/check_cycle.c
    PLI_OBSERVE_PARTS,   // of a partitioned send, found by its tag
    PLI_OBSERVE_WHOLE =
        8, // besides: not one that must be fetched from a sender, which may have ended
};
// Whether notes go to and come from a rank: it is of this job, and no other that IMPI joined to it.
bool pli_observe_note_reaches(MPI_Comm comm, int rank);
// Does not wait for the receiver. False: the peer belongs to another job, or cannot be reached.
bool pli_observe_note_send(MPI_Comm comm, int dest, int tag, enum pli_observe_about about,
                           const void *note);

enum pli_observe_taken {
    PLI_OBSERVE_NONE,
    PLI_OBSERVE_TAKEN,
    PLI_OBSERVE_UNORDERED // taken, but messages may overtake each other: it may be another's
};
// Does not wait: what belongs to a message that was received is there. The rank may be
// MPI_ANY_SOURCE.
enum pli_observe_taken pli_observe_note_take(MPI_Comm comm, int source, int tag,
                                             enum pli_observe_about about, void *note);
// Waits for it. The rank must be one that sends notes. False: it cannot come.
bool pli_observe_note_wait(MPI_Comm comm, int source, int tag, void *note);
// Takes in what has come, as MPI_Iprobe does. False: the rank has failed, or the communicator is
// revoked, of which no error handler of the program hears.
bool pli_observe_note_probe(MPI_Comm comm, int source);
// Whether the note of a message that such a receive would take is there.
bool pli_observe_note_is_here(MPI_Comm comm, int source, int tag);
// A rank other than `source` whose message, which nobody has received yet, fits the receive; -1:
// none.
int pli_observe_note_other(MPI_Comm comm, int tag, int source);
// Takes a note whose message nobody has received, of any communicator of this endpoint; false: none
// is left. may_fetch: its sender waits until it is taken.
bool pli_observe_note_left(MPI_Comm comm, bool may_fetch, int *source, int *tag, void *note);
// Takes all that have come and that no message belongs to: who sent them keeps them until then.
void pli_observe_note_drop(MPI_Comm comm, bool may_fetch);

// The numbers that one element of a datatype is made of, in order.
struct pli_observe_run {
    uint8_t number; // enum pli_number; 0: bytes, which may be anything
    int64_t n;
};
struct pli_observe_type {
    int64_t size, n_number, true_lb, true_extent, extent;
    uint8_t form;  // the predefined type that all of it is, 0: several
    bool is_dense; // one run of bytes, for any count
    int n_run;     // -1: more than there was room for
};
// False: there is no such datatype, or it is not committed.
bool pli_observe_note_type(MPI_Datatype type, struct pli_observe_type *out,
                           struct pli_observe_run *runs, int cap);
const char *pli_observe_note_form(uint8_t form); // its name

#endif
