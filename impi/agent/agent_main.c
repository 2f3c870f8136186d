// SPDX-License-Identifier: BSD-3-Clause
// impi-agent N FD TAGUB: the agent of a client of N processes, started by its process 0, which
// holds the other end of socket FD; their largest tag is TAGUB. impi-agent --ended WHAT: tells the
// server that this job has ended without joining. Not for users to call.
#include "agent/agent.h"
#include "agent/agent_exit.h"
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(void *arg, enum pli_impi_log_level level, const char *line)
{
    const struct pli_agent_conf *conf = arg;
    if (level != PLI_IMPI_LOG_STEP || conf->env.is_verbose) {
        pli_impi_log_print("impi-agent", level, line);
    }
}

int main(int argc, char **argv)
{
    static struct pli_agent_conf conf;
    conf.log = (struct pli_impi_log){ say, &conf };
    if (argc == 3 && strcmp(argv[1], "--ended") == 0) {
        if (pli_impi_env_read(&conf.log, 0, 1, &conf.env) != PLI_IMPI_OK || !conf.env.has_token) {
            return 1;
        }
        signal(SIGPIPE, SIG_IGN);
        pli_agent_exit(&conf.env, argv[2]);
        return 0;
    }
    if (argc != 4 || atoi(argv[1]) < 1 || atoi(argv[2]) < 3 || atoi(argv[3]) < 1) {
        fprintf(stderr, "impi-agent: started by an MPI library that joins an IMPI job; see "
                        "libimpi(7)\n");
        return 1;
    }
    conf.n_proc = (uint32_t)atoi(argv[1]);
    conf.parent_fd = atoi(argv[2]);
    conf.tag_ub = atoi(argv[3]);
    if (pli_impi_env_read(&conf.log, 0, 1, &conf.env) != PLI_IMPI_OK || conf.env.server == NULL) {
        return 1;
    }
    // memory of large messages is kept for the next one: giving it back and faulting it in again
    // costs more than the copy
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 28);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); // the launcher ends the processes, and the agent ends with them
    return pli_agent_run(&conf);
}
