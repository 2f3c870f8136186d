// SPDX-License-Identifier: BSD-3-Clause
// The agent of a job that is one client of an IMPI job: one process per host, forked by mpiexec or
// its daemon there. It finds the other clients through the server, writes what the ranks must know
// of them into the node memory, and then passes messages on between the ranks' mailboxes and the
// connections to the other agents. Of several agents only the first connects to the server.
#ifndef PLI_IMPI_NATIVE_AGENT_H
#define PLI_IMPI_NATIVE_AGENT_H

#include "boot/node.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_native_agent_conf {
    const char *server;    // "host:port"
    uint32_t client;       // which client this job is
    uint32_t host, n_host; // of the client: which one this is
    struct pli_node *node; // with a gateway
    int node_fd;
    int wake_fd;    // eventfd by which ranks wake the agent
    int control_fd; // socket to mpiexec or its daemon, for words
    bool is_verbose;
    bool is_recorded; // there will be a timeline
};

// Bytes on control_fd. Data that belongs to one is in struct pli_native_agent_mail.
enum {
    PLI_NATIVE_AGENT_HERE = 'h', // from each of several: its struct pli_native_agent_place
    PLI_NATIVE_AGENT_LIST = 'l', // to the first: those of all, in the order of hosts
    PLI_NATIVE_AGENT_JOB = 'j',  // from the first, and to the others: what the server said
    PLI_NATIVE_AGENT_UP = 'u',   // from each: ranks may start
    PLI_NATIVE_AGENT_END = 'e',  // to each: the ranks have ended
    PLI_NATIVE_AGENT_OVER = 'o', // not from an agent: it has ended well
    PLI_NATIVE_AGENT_WHY = 'w'   // to each: the job ends; WHY_TEXT bytes follow that say why
};

enum {
    PLI_NATIVE_AGENT_WHY_TEXT = 200,
    PLI_NATIVE_AGENT_HAS_SAID = 3 // exit status: the job is lost, and the user has been told why
};

// The address of an agent, in the form that IMPI defines.
struct pli_native_agent_place {
    unsigned char addr[16];
    uint32_t port, n_proc, ackmark, hiwater;
};

// Memory through which the agent and the process that started it exchange data during start-up.
struct pli_native_agent_mail {
    uint64_t len;
    unsigned char data[];
};
struct pli_native_agent_mail *pli_native_agent_mail(const struct pli_node *node);

// Runs until the IMPI job is over; returns the exit status: 0, or another one after an error
// message on standard error. Context: a process of its own.
int pli_native_agent_run(const struct pli_native_agent_conf *conf);

#endif
