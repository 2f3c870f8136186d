// SPDX-License-Identifier: BSD-3-Clause
// Connections to hosts that cannot be reached, in a world that was joined by a token: both hosts
// connect to the server, which passes on what each of them says. TLS goes as far as the server,
// which knows the secret of the world as they do.
#include "engine/impi_net_priv.h"
#include "engine/impi_sock.h"
#include "wire/impi_cmd_wire.h"
#include "wire/impi_job.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

enum {
    OUT = PLI_IMPI_CMD_WORD + PLI_IMPI_CMD_KEY + PLI_IMPI_CMD_RELAY,
    IN = PLI_IMPI_CMD_METHOD + PLI_IMPI_CMD_RELAYED,
};

struct relay { // to one host, until the server has brought both sides together
    struct pli_impi_stream s;
    bool is_dialing, is_called;
    unsigned char out[OUT], in[IN];
    uint32_t n_out, n_in; // bytes that have gone, and come
};

bool pli_impi_net_relay_may(const struct pli_impi_net *net)
{
    return net->conf.relay != NULL;
}

static enum pli_impi_err fail(struct pli_impi_net *net, uint32_t host, const char *why)
{
    pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR,
                 "host %u cannot reach host %u, and the server at %s cannot relay between them: %s",
                 net->host, host, net->conf.relay, why);
    return pli_impi_net_fail(net, PLI_IMPI_ERR_PEER);
}

enum pli_impi_err pli_impi_net_relay_begin(struct pli_impi_net *net, uint32_t host, bool is_called)
{
    int fd;
    if (net->relay == NULL) {
        net->relay = calloc(net->job->n_host, sizeof(struct relay *));
    }
    struct relay *r = net->relay == NULL || net->relay[host] != NULL ? NULL : calloc(1, sizeof *r);
    if (r == NULL) {
        return net->relay != NULL && net->relay[host] != NULL ? PLI_IMPI_OK
                                                              : fail(net, host, "out of memory");
    }
    r->s.fd = -1;
    net->relay[host] = r;
    r->is_called = is_called;
    struct pli_impi_relay what = { .from = is_called ? host : net->host,
                                   .to = is_called ? net->host : host,
                                   .is_called = is_called };
    what.client = net->job->host[what.to].client;
    size_t n = pli_impi_cmd_put_auth(r->out, 1u << PLI_IMPI_AUTH_KEY);
    n += pli_impi_cmd_put_key(r->out + n, net->conf.relay_key);
    (void)pli_impi_cmd_put_relay(r->out + n, &what);
    if (pli_impi_sock_dial_name(net->conf.relay, &net->conf.log, &fd) != PLI_IMPI_OK ||
        pli_impi_stream_open(&r->s, fd, net->conf.n_secret > 0 ? net->tls : NULL, true) !=
            PLI_IMPI_OK) {
        return fail(net, host, strerror(errno));
    }
    r->is_dialing = true;
    return pli_impi_net_watch(net, r->s.fd, KEY_RELAY, host, true);
}

static enum pli_impi_err move(struct relay *r)
{
    enum pli_impi_err err = PLI_IMPI_OK;
    while (r->n_out < OUT && err == PLI_IMPI_OK) {
        struct iovec iov = { r->out + r->n_out, OUT - r->n_out };
        size_t n = 0;
        err = pli_impi_stream_write(&r->s, &iov, 1, &n);
        r->n_out += (uint32_t)n;
    }
    while (r->n_out == OUT && r->n_in < IN && err == PLI_IMPI_OK) {
        struct iovec iov = { r->in + r->n_in, IN - r->n_in };
        size_t n = 0;
        err = pli_impi_stream_read(&r->s, &iov, 1, &n);
        r->n_in += (uint32_t)n;
    }
    return err;
}

enum pli_impi_err pli_impi_net_relay_event(struct pli_impi_net *net, uint32_t host)
{
    struct relay *r = net->relay != NULL ? net->relay[host] : NULL;
    if (r == NULL) {
        return PLI_IMPI_OK; // closed earlier in this round
    }
    if (r->is_dialing) {
        int sys = pli_impi_sock_error(r->s.fd);
        if (sys != 0) {
            return fail(net, host, strerror(sys));
        }
        r->is_dialing = false;
    }
    enum pli_impi_err err = move(r);
    if (err < 0) {
        return fail(net, host, "it closed the connection");
    }
    if (r->n_in < IN) {
        bool waits = r->n_out == OUT || pli_impi_stream_waits(&r->s);
        return pli_impi_net_rewatch(net, r->s.fd, KEY_RELAY, host, !waits);
    }
    struct pli_impi_cmd_head head;
    if (pli_impi_cmd_get_head(r->in + PLI_IMPI_CMD_METHOD, IN - PLI_IMPI_CMD_METHOD, &head) !=
            PLI_IMPI_OK ||
        head.cmd != PLI_IMPI_CMD_RLAY) {
        return fail(net, host, "its answer makes no sense");
    }
    struct pli_impi_stream s = r->s;
    bool is_called = r->is_called;
    r->s = (struct pli_impi_stream){ .fd = -1 };
    free(r);
    net->relay[host] = NULL;
    return pli_impi_net_mesh_relayed(net, host, s, is_called);
}

void pli_impi_net_relay_close(struct pli_impi_net *net)
{
    for (uint32_t h = 0; net->relay != NULL && h < net->job->n_host; h++) {
        if (net->relay[h] != NULL) {
            pli_impi_net_drop(net, &net->relay[h]->s);
            free(net->relay[h]);
        }
    }
    free(net->relay);
    net->relay = NULL;
}
