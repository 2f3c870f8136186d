// SPDX-License-Identifier: BSD-3-Clause
// The kinds of message between processes, and what their words mean.
#ifndef PLI_MSG_MSG_WIRE_H
#define PLI_MSG_MSG_WIRE_H

// Numbers are appended and never reused.
enum pli_msg_kind {
    PLI_MSG_NONE,
    PLI_MSG_EAGER,      // matched; data in one cell or several, or word[0] = block
    PLI_MSG_SYNC,       // matched; word[0] = sender's request or 0: it wants no answer, then data
                        // inline or word[1] = block
    PLI_MSG_RTS,        // matched; word[0] = sender's request, word[1] = address of the data, 0: it
                        // may not be read; word[2] = pieces; several: word[1] is that of their list
    PLI_MSG_CTS,        // word[0] = sender's request, word[1] = receiver's, word[2] = bytes wanted
    PLI_MSG_DATA,       // word[0] = receiver's request, word[1] = block, word[2] = offset
    PLI_MSG_FIN,        // word[0] = sender's request: all was read
    PLI_MSG_ACK,        // word[0] = sender's request: the message was matched
    PLI_MSG_UNSEND,     // word[0] = sender's request, word[1] = endpoint: forget it if unmatched
    PLI_MSG_UNSENT,     // word[0] = sender's request, word[1] = 1: forgotten, 0: too late
    PLI_MSG_PART_READY, // word[0] = receiver's partitioned request, word[1] = sender's
    PLI_MSG_COPY_HELP,  // same process; word[0] = sender's request, word[1] = job: help to copy
    PLI_MSG_COPY_DONE,  // same process; word[0] = receiver's request: all was copied
    PLI_MSG_HOLD,       // network: word[0] = 1: I hold too much, offer instead; 0: no more
    PLI_MSG_BYE,        // network: I leave in good order
    PLI_MSG_MERGE,      // network: we have two connections; write to this one, which I made
    PLI_MSG_MOVE,       // network: the last frame on this connection
    // From a rank to the agent of an IMPI job. Ranks are those of MPI_COMM_WORLD.
    PLI_MSG_GATEWAY_SEND,  // to rank dst_ep; word[0] = request, then data inline or word[1] = block
    PLI_MSG_GATEWAY_OFFER, // the same without the data; word[1] = bytes of an element
    PLI_MSG_GATEWAY_MORE,  // word[0] = agent's send, word[1] = bytes of it that are in the heap
    PLI_MSG_GATEWAY_CANCEL, // word[0] = request
    PLI_MSG_GATEWAY_ACCEPT, // word[0] = agent's message: matched, word[1] = receiver's request
    PLI_MSG_GATEWAY_DONE,   // word[0] = agent's message: all was read
    PLI_MSG_GATEWAY_UNSENT, // word[0] = sender's number, [1] = agent's message, [2] = rank << 1 | 1
    PLI_MSG_GATEWAY_BYE,    // this rank has finalized
    // From the agent to a rank.
    PLI_MSG_GATEWAY_MSG,     // matched; word[0] = agent's message or 0, word[1] = sender's number,
                             // word[2] = data inline or block
    PLI_MSG_GATEWAY_HEAP,    // matched; word[1] = where it is in the heap
    PLI_MSG_GATEWAY_ROOM,    // word[0] = request, [1] = agent's send, [2] = where to write it;
                             // size = bytes that go before it is matched
    PLI_MSG_GATEWAY_MATCHED, // word[0] = request
    PLI_MSG_GATEWAY_GONE,    // there may be room in a ring again
    PLI_MSG_GATEWAY_CANCELLED, // word[0] = request, word[1] = 1: it is, 0: too late
    PLI_MSG_GATEWAY_PART,      // word[0] = receiver's request, word[1] = bytes that are in place
    PLI_MSG_GATEWAY_UNSEND,    // word[0] = sender's number, word[1] = sending rank: forget it
    // Between lanes that use UCX, see net/ucx/ucx_conn.h.
    PLI_MSG_UCX_ADDRESS, // over TCP; address of my worker, none: I have none; word[0] = place,
                         // word[1] = key that your messages must bear, word[2] = say MET
    PLI_MSG_CTS_PIECES,  // as CTS, and the data is to come in pieces that are no offers
    PLI_MSG_UCX_ASK,     // word[0] = what I have sent: have you got it?
    PLI_MSG_UCX_SEEN,    // word[0] = the same: yes
    PLI_MSG_UCX_LEAVE,   // over TCP; I sent word[0] messages by UCX; all else comes over TCP
    PLI_MSG_UCX_LEFT,    // over TCP; I have all of yours, and nothing is under way here
    PLI_MSG_UCX_READY,   // over TCP; I have read your address, and all before it
    // Between processes of a host, see cma.h.
    PLI_MSG_HELP_WRITE, // word[0] = sender's request, word[1] = block with a struct pli_copy_job
    PLI_MSG_WRITTEN,    // word[0] = receiver's request, word[1] = 1: all is there, 0: not all
    // Of windows, see rma/win_ring.c.
    PLI_MSG_RING, // word[0] = a ring of accesses, word[1] = its head, word[2] = receiver's window
    PLI_N_WIRE
};

enum {
    PLI_MSG_HAS_BLOCK = 1, // flag: the data is in a block
    PLI_MSG_IS_SYNC = 2,   // flag: of a GATEWAY_SEND or GATEWAY_OFFER
    PLI_MSG_HAS_ROW = 4,   // flag: an EAGER message is in several cells
};

// Contexts of communicators that span MPI jobs. What IMPI numbers is at most 60 bits; the rest is
// made by a process of ours and means something between jobs of Pliant MPI only.
#define PLI_MSG_SPAN ((uint64_t)1 << 62)
#define PLI_MSG_PRIVATE ((uint64_t)1 << 61) // with PLI_MSG_SPAN

enum { PLI_MSG_SYNC_INLINE = 16 };

#endif
