// SPDX-License-Identifier: BSD-3-Clause
// The agent's loop: handles messages of the ranks and of other agents, and sleeps when there are
// none.
#include "impi/agent_native/native_agent_priv.h"

#include "base/clock.h"
#include "base/conf.h"
#include "msg/msg_wire.h"
#include "net/shm/shm_sleep.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 256, STALL_MS = 1 };

static void say(const struct pli_native_agent *a, const char *text)
{
    char line[1024];
    int n = snprintf(line, sizeof line, "mpiexec: IMPI client %u: %s\n", a->conf->client, text);
    n = n < (int)sizeof line ? n : (int)sizeof line - 1;
    ssize_t done = write(STDERR_FILENO, line, (size_t)n);
    (void)done; // nothing can be done when standard error is closed
}

void pli_native_agent_fail(struct pli_native_agent *a, const char *fmt, ...)
{
    char text[900];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!a->has_failed) {
        say(a, text);
    }
    a->has_failed = true;
}

static void log_line(void *arg, enum pli_impi_log_level level, const char *line)
{
    const struct pli_native_agent *a = arg;
    if (level != PLI_IMPI_LOG_STEP || a->conf->is_verbose) {
        say(a, line);
    }
}

static void one(struct pli_native_agent *a, const struct pli_shm_cell *cell)
{
    switch (cell->kind) {
    case PLI_MSG_GATEWAY_SEND:
    case PLI_MSG_GATEWAY_OFFER:
        pli_native_agent_out_send(a, cell);
        break;
    case PLI_MSG_GATEWAY_MORE:
        pli_native_agent_out_more(a, cell);
        break;
    case PLI_MSG_GATEWAY_CANCEL:
        pli_native_agent_out_cancel(a, cell);
        break;
    case PLI_MSG_GATEWAY_ACCEPT:
        pli_native_agent_in_accept(a, cell);
        break;
    case PLI_MSG_GATEWAY_DONE:
        pli_native_agent_in_done(a, cell);
        break;
    case PLI_MSG_GATEWAY_UNSENT:
        pli_native_agent_in_unsent(a, cell);
        break;
    case PLI_MSG_GATEWAY_BYE:
        a->n_bye++;
        break;
    default:
        pli_native_agent_fail(a,
                              "rank %u said something of kind %d that an agent does not understand",
                              cell->src_proc, cell->kind);
        break;
    }
}

static int listen_to_ranks(struct pli_native_agent *a)
{
    int n = 0;
    const struct pli_shm_cell *cell;
    while (n < BATCH && (cell = pli_shm_peek(&a->shm)) != NULL && !a->has_failed) {
        one(a, cell);
        pli_shm_next(&a->shm);
        n++;
    }
    pli_shm_settle(&a->shm);
    return n;
}

// mpiexec sends a byte when all ranks have ended; the end of the connection means that it has
// ended.
static void listen_to_launcher(struct pli_native_agent *a)
{
    char word;
    a->is_control_ready = false;
    for (;;) {
        ssize_t n = recv(a->conf->control_fd, &word, 1, MSG_DONTWAIT);
        if (n == 1) {
            a->has_ended = a->has_ended || word == PLI_NATIVE_AGENT_END;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            _exit(1);
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

// Sleep until there is an event. A rank that writes at this moment sees the agent awake, or asleep
// and wakes it.
static enum pli_impi_err wait_for_events(struct pli_native_agent *a)
{
    int tend_ms = pli_native_agent_heap_trim(&a->heap, pli_clock_ns() / 1000000);
    int wait_ms = pli_list_is_empty(&a->stalled) ? tend_ms : STALL_MS;
    pli_shm_announce(&a->shm, PLI_SHM_BY_EVENT);
    if (!pli_shm_order()) {
        wait_ms = STALL_MS;
    }
    enum pli_impi_err err = pli_impi_net_poll(a->net, pli_shm_peek(&a->shm) != NULL ? 0 : wait_ms);
    pli_shm_retract(&a->shm);
    return err;
}

// One turn of the loop.
static enum pli_impi_err turn(struct pli_native_agent *a)
{
    int n = listen_to_ranks(a);
    n += pli_native_agent_box_retry(a);
    enum pli_impi_net_state state = pli_impi_net_state(a->net);
    if (state == PLI_IMPI_NET_RUN && (a->has_ended || a->n_bye == a->n_row)) {
        pli_impi_net_finish(a->net);
    } else if (state == PLI_IMPI_NET_QUIET && a->has_ended) {
        pli_impi_net_bye(a->net);
    }
    enum pli_impi_err err = n > 0 ? pli_impi_net_poll(a->net, 0) : wait_for_events(a);
    if (a->is_control_ready) {
        listen_to_launcher(a);
    }
    return err;
}

static bool prepare(struct pli_native_agent *a)
{
    a->gateway = pli_node_gateway(a->node);
    a->n_row = a->node->header->n_row;
    a->next_id = 1;
    pli_list_init(&a->outs);
    if (!pli_native_agent_box_init(a) ||
        !pli_native_agent_heap_init(&a->heap, a->conf->node_fd, a->gateway->heap,
                                    a->gateway->heap_size) ||
        pli_shm_open(&a->shm, a->node, pli_node_agent(a->node), 0) != PLI_OK) {
        pli_native_agent_fail(a, "no memory");
        return false;
    }
    return true;
}

static int live(struct pli_native_agent *a)
{
    char up = PLI_NATIVE_AGENT_UP;
    if (pli_impi_net_also(a->net, a->conf->wake_fd, &a->is_woken) != PLI_IMPI_OK ||
        send(a->conf->control_fd, &up, 1, MSG_NOSIGNAL) != 1) {
        return 1;
    }
    enum pli_impi_err err = PLI_IMPI_OK;
    while (err == PLI_IMPI_OK && !a->has_failed &&
           pli_impi_net_state(a->net) != PLI_IMPI_NET_DONE) {
        err = turn(a);
    }
    if (err != PLI_IMPI_OK) {
        pli_native_agent_fail(a, "the connections are lost: %s", pli_impi_err_text(err));
    }
    return a->has_failed ? 1 : 0;
}

int pli_native_agent_run(const struct pli_native_agent_conf *conf)
{
    static struct pli_native_agent a;
    struct pli_impi_log log = { log_line, &a };
    struct pli_impi_engine_ops ops = pli_impi_engine_quiet;
    ops.room = pli_native_agent_in_room;
    ops.dropped = pli_native_agent_in_dropped;
    ops.arrived = pli_native_agent_in_arrived;
    ops.part = pli_native_agent_in_part;
    ops.received = pli_native_agent_in_received;
    ops.left = pli_native_agent_out_left;
    ops.sent = pli_native_agent_out_sent;
    ops.matched = pli_native_agent_out_matched;
    ops.cancelled = pli_native_agent_out_cancelled;
    ops.cancel_asked = pli_native_agent_in_cancel_asked;
    a.conf = conf;
    a.node = conf->node;
    pli_conf_load();
    int status = prepare(&a) && pli_native_agent_join(&a, &ops, &log) ? live(&a) : 1;
    pli_impi_net_destroy(a.net);
    pli_native_agent_heap_fini(&a.heap);
    free(a.boxes);
    return status;
}
