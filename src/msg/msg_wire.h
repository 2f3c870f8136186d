// SPDX-License-Identifier: BSD-3-Clause
// What processes say to each other: the kinds of message and what their words mean.
#ifndef PLI_MSG_MSG_WIRE_H
#define PLI_MSG_MSG_WIRE_H

// Numbers are appended and never reused.
enum pli_wire_kind {
    PLI_WIRE_NONE,
    PLI_WIRE_EAGER,      // matched; data inline, or word[0] = block
    PLI_WIRE_SYNC,       // matched; word[0] = sender's request or 0: it wants no answer, then data
                         // inline or word[1] = block
    PLI_WIRE_RTS,        // matched; word[0] = sender's request, word[1] = address, word[2] = pid
    PLI_WIRE_CTS,        // word[0] = sender's request, word[1] = receiver's, word[2] = bytes wanted
    PLI_WIRE_DATA,       // word[0] = receiver's request, word[1] = block, word[2] = offset
    PLI_WIRE_FIN,        // word[0] = sender's request: all was read
    PLI_WIRE_ACK,        // word[0] = sender's request: the message was matched
    PLI_WIRE_UNSEND,     // word[0] = sender's request, word[1] = endpoint: forget it if unmatched
    PLI_WIRE_UNSENT,     // word[0] = sender's request, word[1] = 1: forgotten, 0: too late
    PLI_WIRE_PART_READY, // word[0] = receiver's partitioned request, word[1] = sender's
    PLI_WIRE_SHARE,      // same process; word[0] = sender's request, word[1] = job: help to copy
    PLI_WIRE_SHARED,     // same process; word[0] = receiver's request: all was copied
    PLI_WIRE_HOLD,       // network: word[0] = 1: I hold too much, offer instead; 0: no more
    PLI_WIRE_BYE,        // network: I leave in good order
    PLI_WIRE_MERGE,      // network: we have two connections; write to this one, which I made
    PLI_WIRE_MOVE,       // network: the last frame on this connection
    // From a rank to the agent of an IMPI job. Ranks are those of MPI_COMM_WORLD.
    PLI_WIRE_GATE_SEND,   // to rank dst_ep; word[0] = request, then data inline or word[1] = block
    PLI_WIRE_GATE_OFFER,  // the same without the data; word[1] = bytes of an element
    PLI_WIRE_GATE_MORE,   // word[0] = agent's send, word[1] = bytes of it that are in the heap
    PLI_WIRE_GATE_CANCEL, // word[0] = request
    PLI_WIRE_GATE_ACCEPT, // word[0] = agent's message: it was matched, word[1] = receiver's request
    PLI_WIRE_GATE_DONE,   // word[0] = agent's message: all was read
    PLI_WIRE_GATE_UNSENT, // word[0] = sender's number, [1] = agent's message, [2] = rank << 1 | yes
    PLI_WIRE_GATE_BYE,    // this rank has finalized
    // From the agent to a rank.
    PLI_WIRE_GATE_MSG,       // matched; word[0] = agent's message or 0, word[1] = sender's number,
                             // word[2] = data inline or block
    PLI_WIRE_GATE_HEAP,      // matched; word[1] = where it is in the heap
    PLI_WIRE_GATE_ROOM,      // word[0] = request, [1] = agent's send, [2] = where to write it;
                             // size = bytes that go before it is matched
    PLI_WIRE_GATE_MATCHED,   // word[0] = request
    PLI_WIRE_GATE_GONE,      // there may be room in a ring again
    PLI_WIRE_GATE_CANCELLED, // word[0] = request, word[1] = 1: it is, 0: too late
    PLI_WIRE_GATE_PART,      // word[0] = receiver's request, word[1] = bytes that are in place
    PLI_WIRE_GATE_UNSEND,    // word[0] = sender's number, word[1] = sending rank: forget it
    // Between lanes that use UCX, see core/ucxlink.h.
    PLI_WIRE_WORKER,     // over TCP; address of my worker, none: I have none; word[0] = place,
                         // word[1] = key that your messages must bear, word[2] = say MET
    PLI_WIRE_CTS_PIECES, // as CTS, and the data is to come in pieces that are no offers
    PLI_WIRE_SURE,       // word[0] = what I have sent: have you got it?
    PLI_WIRE_SURED,      // word[0] = the same: yes
    PLI_WIRE_AWAY,       // over TCP; I sent word[0] messages by UCX; all else comes over TCP
    PLI_WIRE_OVER,       // over TCP; I have all of yours, and nothing is under way here
    PLI_WIRE_MET,        // over TCP; I have read your address, and all before it
    PLI_N_WIRE
};

enum {
    PLI_WIRE_HAS_BLOCK = 1, // flag: the data is in a block
    PLI_WIRE_IS_SYNC = 2,   // flag: of a GATE_SEND or GATE_OFFER
};

// Contexts of communicators that span MPI jobs. What IMPI numbers is at most 60 bits; the rest is
// made by a process of ours and means something between jobs of Pliant MPI only.
#define PLI_WIRE_SPAN ((uint64_t)1 << 62)
#define PLI_WIRE_PRIVATE ((uint64_t)1 << 61) // with PLI_WIRE_SPAN

enum { PLI_WIRE_SYNC_INLINE = 16 };

#endif
