// SPDX-License-Identifier: BSD-3-Clause
// The frames between a process of a client and the client's agent: a head of fixed size and data.
// Both belong to one job on machines of one kind, so numbers are in their native byte order. This
// is not part of the IMPI protocol; nothing else may rely on it.
#ifndef PLI_AGENT_WIRE_H
#define PLI_AGENT_WIRE_H

#include <stdint.h>

enum { PLI_AGENT_VERSION = 2, PLI_AGENT_TOKEN = 16, PLI_AGENT_ADDRESS = 64 };

enum pli_agent_type {
    // agent to the process that started it
    PLI_AGENT_READY = 1, // data: struct pli_agent_where
    // process to agent
    PLI_AGENT_HELLO,  // n: place among the client's processes; data: the token; with it may come
                      // the descriptor of memory (agent_memory.h)
    PLI_AGENT_SEND,   // id, peer, cid, lsrank, tag, IS_SYNC; data: the whole message, or IS_SHARED:
                      // msglen bytes at offset handle
    PLI_AGENT_ACCEPT, // handle; msglen: bytes wanted of a long message
    PLI_AGENT_CANCEL, // id, peer; srqid if SENT has told it
    PLI_AGENT_ANSWER, // peer, srqid, handle (0: none), IS_YES: to ASKED
    PLI_AGENT_FINAL,  // the process has finalized
    // agent to process
    PLI_AGENT_JOB,      // n: WORLD rank of the first process; data: the collated labels;
                        // IS_SHARED: the memory can be used
    PLI_AGENT_ARRIVED,  // peer, cid, lsrank, tag, msglen, srqid, handle; data: its first packet, or
                        // IS_SHARED: n bytes at offset id, where the rest will be too
    PLI_AGENT_PART,     // handle; msglen: offset; data
    PLI_AGENT_RECEIVED, // handle: all parts have come
    PLI_AGENT_SENT,     // id, srqid: the data has left, or cannot (IS_BAD)
    PLI_AGENT_MATCHED,  // id
    PLI_AGENT_CANCELLED, // id, IS_YES; srqid is 0 if the agent no longer knew it
    PLI_AGENT_ASKED,     // peer, srqid: may this message be cancelled?
    PLI_AGENT_OVER,      // data: why the job must end, a line of text
    PLI_AGENT_GIVE,      // both ways, handle: the place at this offset is no longer used
    PLI_AGENT_N_TYPE,
};

enum pli_agent_flag {
    PLI_AGENT_IS_SYNC = 1,
    PLI_AGENT_IS_YES = 2,
    PLI_AGENT_IS_BAD = 4,
    PLI_AGENT_IS_SHARED = 8, // the data is in the memory of the process and its agent
};

struct pli_agent_frame {
    uint32_t type, flags;
    uint64_t len; // bytes of data after this
    uint64_t id, srqid, handle, cid, msglen;
    uint32_t peer, n; // peer: WORLD rank
    int32_t lsrank, tag;
};
_Static_assert(sizeof(struct pli_agent_frame) == 72, "shared with other processes");

struct pli_agent_where {               // where an agent is found
    uint32_t version, port;            // TCP
    char address[PLI_AGENT_ADDRESS];   // of the machine, for TCP
    char unix_name[PLI_AGENT_ADDRESS]; // abstract, for processes of the same machine
    char boot[PLI_AGENT_ADDRESS];      // names the machine
    unsigned char token[PLI_AGENT_TOKEN];
};
_Static_assert(sizeof(struct pli_agent_where) == 8 + 3 * 64 + 16, "shared with other processes");

#endif
