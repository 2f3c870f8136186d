// SPDX-License-Identifier: BSD-3-Clause
// What a rank tells mpiexec over its control socket (one packet each). mpiexec never answers: the
// rank has asked the kernel to kill it when anything, the end included, arrives from that side.
#ifndef PLI_BOOT_CTL_WIRE_H
#define PLI_BOOT_CTL_WIRE_H

#include <stdint.h>

enum pli_ctl_kind {
    // I am `row`, and not your own child; may carry a control socket for my own use and then, in a
    // job with a network, an accept socket
    PLI_CTL_HELLO = 1,
    // end the job with `code`; `text` says why, and in a second line where the program called MPI
    // (call_site.h)
    PLI_CTL_ABORT = 2,
    PLI_CTL_READY = 4, // a rank of a new version of the world waits for it to count
    PLI_CTL_ASK = 3,   // carries a socket on which a request follows, see launcher_wire.h
    // I was forked from the rank whose socket this is, and am `row`; carries a control socket of my
    // own and what I print to: output, error
    PLI_CTL_CLONE = 5,
    // I was forked from the rank whose socket this is, and am to be `row`, whose process is on
    // another host; I know myself as process `code`. Carries my resume pipe (freeze_wire.h), what I
    // print to, and a pipe that ends when I can be written to an image
    PLI_CTL_FAR = 7,
    PLI_CTL_AGREE = 6, // `text` is a word about a communicator, see agree_wire.h
    // For checkpoints, see freeze_wire.h
    PLI_CTL_FROZEN =
        16, // carries my resume pipe; the end of this socket follows. Or why not: code, text
    PLI_CTL_BACK = 17,    // over a new socket: I am `row`, and back
    PLI_CTL_DRAINED = 19, // nothing is on its way to me any more that I know of
    // I am a copy of the process `row`, which is to be dumped in its stead, and know myself as
    // process `code`; carries my resume pipe. Without it and with `code` 0: I am none after all
    PLI_CTL_COPIED = 20,
    PLI_CTL_SAVE = 18, // make a checkpoint; the node memory says how it went
};

struct pli_ctl_msg {
    uint32_t kind; // enum pli_ctl_kind
    uint32_t row;
    int32_t code;
    char text[244]; // ends with a zero
};
_Static_assert(sizeof(struct pli_ctl_msg) == 256, "shared with other processes");

#endif
