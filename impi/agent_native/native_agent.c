// SPDX-License-Identifier: BSD-3-Clause
// The agent's loop: handles messages of the ranks and of other agents, and sleeps when there are
// none.
#include "impi/agent_native/native_agent_priv.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/conf.h"
#include "engine/impi_proc.h"
#include "msg/msg_wire.h"
#include "net/shm/shm_sleep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BATCH = 256,
    STALL_MS = 1,
    FIRST_MS = 3000, // for the first host's agent to learn from the server what has happened
    LOOK_MS = 1000,
    N_LOOK = 100 // looks in vain before it sleeps, giving way to the ranks between them
};

bool pli_native_agent_has_token(void)
{
    return getenv("IMPI_TOKEN") != NULL;
}

static void say(const struct pli_native_agent *a, enum pli_impi_log_level level, const char *text)
{
    char who[64] = "mpiexec";
    if (!pli_native_agent_has_token()) {
        snprintf(who, sizeof who, "mpiexec: IMPI client %u", a->client);
    }
    pli_impi_log_print(who, level, text);
}

void pli_native_agent_fail(struct pli_native_agent *a, const char *fmt, ...)
{
    char text[900];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!a->has_failed) {
        say(a, PLI_IMPI_LOG_ERROR, text);
        pli_impi_net_give_up(a->net, text);
    }
    a->has_failed = true;
}

static void log_line(void *arg, enum pli_impi_log_level level, const char *line)
{
    const struct pli_native_agent *a = arg;
    if (level != PLI_IMPI_LOG_STEP || a->conf->is_verbose) {
        say(a, level, line);
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

static volatile sig_atomic_t is_orphan;
static int orphan_fd = -1;

// mpiexec has died. The loop is woken as a rank would wake it.
static void on_orphan(int sig)
{
    uint64_t one_more = 1;
    is_orphan = sig;
    ssize_t n = write(orphan_fd, &one_more, sizeof one_more);
    (void)n; // it is full: the loop is awake
}

// The other clients are told why this one ends; mpiexec has told the user.
static _Noreturn void end_with(struct pli_native_agent *a, const char *why)
{
    pli_impi_net_give_up(a->net, why);
    _exit(1);
}

// mpiexec sends a byte when all ranks have ended; the end of the connection means that it has
// ended.
static void listen_to_launcher(struct pli_native_agent *a)
{
    char word;
    a->is_control_ready = false;
    for (;;) {
        ssize_t n = recv(a->conf->control_fd, &word, 1, MSG_DONTWAIT);
        if (n == 1 && word == PLI_NATIVE_AGENT_WHY) {
            char why[PLI_NATIVE_AGENT_WHY_TEXT] = "";
            (void)recv(a->conf->control_fd, why, sizeof why, MSG_WAITALL);
            why[sizeof why - 1] = '\0';
            end_with(a, why);
        } else if (n == 1) {
            a->has_ended = a->has_ended || word == PLI_NATIVE_AGENT_END;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            end_with(a, "mpiexec was killed");
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

// Sleep until there is an event. A rank that writes at this moment sees the agent awake, or asleep
// and wakes it.
static enum pli_impi_err wait_for_events(struct pli_native_agent *a)
{
    int tend_ms = pli_impi_heap_trim(&a->heap, pli_clock_ns() / 1000000);
    int wait_ms = pli_list_is_empty(&a->stalled) ? tend_ms : STALL_MS;
    int clock_ms = pli_native_agent_clock_ask(a);
    wait_ms = clock_ms >= 0 && (wait_ms < 0 || clock_ms < wait_ms) ? clock_ms : wait_ms;
    pli_shm_announce(&a->shm, PLI_SHM_BY_EVENT);
    if (!pli_shm_order()) {
        wait_ms = STALL_MS;
    }
    enum pli_impi_err err = pli_impi_net_poll(a->net, pli_shm_peek(&a->shm) != NULL ? 0 : wait_ms);
    pli_shm_retract(&a->shm);
    return err;
}

// What is stopped here keeps the ranks of the other clients waiting: they are told.
static void look_for_stopped(struct pli_native_agent *a)
{
    char text[160] = "";
    uint64_t now = pli_clock_ns() / 1000000;
    if (!pli_native_agent_has_token() || now < a->look_ms) {
        return;
    }
    a->look_ms = now + LOOK_MS;
    for (uint32_t r = 0; r < a->n_row && text[0] == '\0'; r++) {
        pid_t pid = (pid_t)atomic_load(&a->node->rows[r].pid);
        if (pid > 0 && pli_impi_proc_is_stopped(pid)) {
            snprintf(text, sizeof text, "rank %u of the world (process %d) is stopped",
                     a->first + r, (int)pid);
        }
    }
    if (text[0] == '\0' && pli_impi_proc_is_stopped(getppid())) {
        snprintf(text, sizeof text, "mpiexec (process %d) is stopped", (int)getppid());
    }
    pli_impi_net_trouble(a->net, text);
}

// One turn of the loop.
static enum pli_impi_err turn(struct pli_native_agent *a)
{
    look_for_stopped(a);
    pli_native_agent_clock_ask(a);
    int n = listen_to_ranks(a);
    n += pli_native_agent_box_retry(a);
    enum pli_impi_net_state state = pli_impi_net_state(a->net);
    if (state == PLI_IMPI_NET_RUN && (a->has_ended || a->n_bye == a->n_row)) {
        pli_impi_net_finish(a->net);
    } else if (state == PLI_IMPI_NET_QUIET && a->has_ended) {
        pli_impi_net_bye(a->net);
    }
    uint64_t before = pli_impi_net_n_event(a->net);
    a->n_idle = n > 0 ? 0 : a->n_idle + 1;
    // Who sleeps costs the sender of the next message a wake-up, the dearest part of its way.
    bool looks = n > 0 || (a->n_idle <= N_LOOK && pli_cpu_give_way());
    enum pli_impi_err err = looks ? pli_impi_net_poll(a->net, 0) : wait_for_events(a);
    if (pli_impi_net_n_event(a->net) != before) {
        a->n_idle = 0;
    }
    if (is_orphan != 0) {
        end_with(a, "mpiexec was killed");
    }
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
        !pli_impi_heap_init(&a->heap, a->conf->node_fd, a->gateway->heap, a->gateway->heap_size) ||
        pli_shm_open(&a->shm, a->node, pli_node_agent(a->node), 0) != PLI_OK) {
        pli_native_agent_fail(a, "no memory");
        return false;
    }
    return true;
}

// For mpictl status: which way goes to each host.
static void tell_ways(struct pli_native_agent *a)
{
    static const uint8_t way[] = { [PLI_IMPI_WAY_NONE] = PLI_GATEWAY_NONE,
                                   [PLI_IMPI_WAY_LOCAL] = PLI_GATEWAY_LOCAL,
                                   [PLI_IMPI_WAY_PLAIN] = PLI_GATEWAY_PLAIN,
                                   [PLI_IMPI_WAY_TLS] = PLI_GATEWAY_TLS,
                                   [PLI_IMPI_WAY_RELAYED] = PLI_GATEWAY_RELAYED };
    for (uint32_t h = 0; h < a->gateway->n_host; h++) {
        uint32_t by = pli_impi_net_links(a->net, h) << PLI_GATEWAY_LINKS;
        atomic_store_explicit(&a->gateway->way[h], (uint8_t)(way[pli_impi_net_way(a->net, h)] | by),
                              memory_order_relaxed);
    }
}

static int live(struct pli_native_agent *a)
{
    char up = PLI_NATIVE_AGENT_UP;
    struct sigaction sa = { .sa_handler = on_orphan };
    orphan_fd = a->conf->wake_fd;
    tell_ways(a);
    sigaction(SIGTERM, &sa, NULL);
    if (pli_impi_net_also(a->net, a->conf->wake_fd, &a->is_woken) != PLI_IMPI_OK ||
        send(a->conf->control_fd, &up, 1, MSG_NOSIGNAL) != 1) {
        return 1;
    }
    enum pli_impi_err err = PLI_IMPI_OK;
    while (err == PLI_IMPI_OK && !a->has_failed &&
           pli_impi_net_state(a->net) != PLI_IMPI_NET_DONE) {
        err = turn(a);
    }
    if (err != PLI_IMPI_OK && pli_native_agent_has_token()) {
        return PLI_NATIVE_AGENT_HAS_SAID;
    }
    if (err != PLI_IMPI_OK) {
        pli_native_agent_fail(a, "the connections are lost: %s", pli_impi_err_text(err));
    }
    return a->has_failed ? 1 : 0;
}

// A connection was lost. Where the world was joined by a token the server knows why, and tells the
// agent of the first host, with which the job ends: others wait for that. If it does not come, what
// was seen here is said.
static void wait_for_first(struct pli_native_agent *a)
{
    struct pollfd control = { .fd = a->conf->control_fd, .events = POLLIN };
    const char *held = pli_impi_net_held(a->net);
    if (a->conf->host > 0 && held != NULL && poll(&control, 1, FIRST_MS) == 0) {
        say(a, PLI_IMPI_LOG_ERROR, held);
    }
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
    a.client = conf->client;
    a.begin_ns = pli_clock_ns();
    pli_conf_load();
    int status = !prepare(&a)                                    ? 1
                 : pli_native_agent_join(&a, &ops, &log)         ? live(&a)
                 : pli_native_agent_has_token() && !a.has_failed ? PLI_NATIVE_AGENT_HAS_SAID
                                                                 : 1;
    if (status == PLI_NATIVE_AGENT_HAS_SAID) {
        wait_for_first(&a);
    }
    pli_impi_net_destroy(a.net);
    pli_impi_heap_fini(&a.heap);
    free(a.boxes);
    return status;
}
