// SPDX-License-Identifier: BSD-3-Clause
// Meets the server as a client would, and says in place of a rank that its job is over.
#include "agent/agent_exit.h"
#include <unistd.h>
#include "engine/impi_net.h"

enum { PATIENCE_S = 5, STEP_MS = 100 };

static void keep_quiet(void *arg, enum pli_impi_log_level level, const char *line)
{
    (void)arg; // the server refuses whoever comes so, and tells the others why
    (void)level;
    (void)line;
}

void pli_agent_exit(const struct pli_impi_env *env, const char *what)
{
    static const struct pli_impi_engine_ops none;
    const struct pli_impi_log log = { keep_quiet, NULL };
    const size_t n_secret = env->token.has_tls ? sizeof env->token.secret : 0;
    struct pli_impi_net_conf conf = { .timeout_s = PATIENCE_S,
                                      .tls_file = env->tls_file,
                                      .may_tls = env->may_tls,
                                      .secret = env->token.secret,
                                      .n_secret = n_secret,
                                      .ops = &none,
                                      .log = log };
    struct pli_impi_version version = { 0, 0 };
    struct pli_impi_host host = { .port = 1, .n_proc = 1, .ackmark = 1, .hiwater = 1 };
    struct pli_impi_proc_id proc = { .pid = (uint64_t)getpid() };
    struct pli_impi_client_info info = { .version = &version,
                                         .n_version = 1,
                                         .host = &host,
                                         .n_host = 1,
                                         .proc = &proc,
                                         .n_proc = 1,
                                         .datalen = env->datalen,
                                         .tag_ub = PLI_IMPI_MIN_TAGUB,
                                         .coll_xsize = env->coll_xsize,
                                         .coll_maxlinear = env->coll_maxlinear };
    struct pli_impi_client_conf client = { .joins = what,
                                           .has_ended = true,
                                           .has_none = env->has_none,
                                           .has_key = env->has_key,
                                           .key = env->key,
                                           .info = &info,
                                           .log = log };
    struct pli_impi_net *net = NULL;
    if (pli_impi_net_create(&conf, &net) == PLI_IMPI_OK &&
        pli_impi_net_start(net, env->server, &client, 0) == PLI_IMPI_OK) {
        while (pli_impi_net_state(net) == PLI_IMPI_NET_SERVER &&
               pli_impi_net_poll(net, STEP_MS) == PLI_IMPI_OK) {
        }
    }
    pli_impi_net_destroy(net);
}
