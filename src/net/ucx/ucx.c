// SPDX-License-Identifier: BSD-3-Clause
// Calls UCX, which is loaded at run time.
// Only the headers of UCX are needed to build this; its library is looked for when it is wanted,
// so that a program runs where there is none.
#include "net/ucx/ucx.h"

#include "base/conf.h"

#include "base/list.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { AM_ID = 7 };

struct pli_ucx {
    ucp_worker_h worker;
    int fd;
    const struct pli_ucx_calls *calls;
    void *arg;
    struct pli_list peers;
};

struct pli_ucx_peer {
    struct pli_list at; // of its worker
    struct pli_ucx *u;
    ucp_ep_h ep;
    bool is_guarded; // UCX itself looks whether the other side lives
    bool is_parted;
    void *arg;
};

#define CALLS(X)                                                                                   \
    X(ucp_get_version)                                                                             \
    X(ucp_get_version_string)                                                                      \
    X(ucp_init_version)                                                                            \
    X(ucp_cleanup)                                                                                 \
    X(ucp_worker_create)                                                                           \
    X(ucp_worker_destroy)                                                                          \
    X(ucp_worker_get_address)                                                                      \
    X(ucp_worker_release_address)                                                                  \
    X(ucp_worker_progress)                                                                         \
    X(ucp_worker_get_efd)                                                                          \
    X(ucp_worker_arm)                                                                              \
    X(ucp_worker_set_am_recv_handler)                                                              \
    X(ucp_ep_create)                                                                               \
    X(ucp_ep_close_nbx)                                                                            \
    X(ucp_ep_flush_nbx)                                                                            \
    X(ucp_am_send_nbx)                                                                             \
    X(ucp_am_recv_data_nbx)                                                                        \
    X(ucp_config_read)                                                                             \
    X(ucp_config_modify)                                                                           \
    X(ucp_config_release)                                                                          \
    X(ucp_mem_map)                                                                                 \
    X(ucp_mem_unmap)                                                                               \
    X(ucp_rkey_pack)                                                                               \
    X(ucp_rkey_buffer_release)                                                                     \
    X(ucp_ep_rkey_unpack)                                                                          \
    X(ucp_rkey_destroy)                                                                            \
    X(ucp_put_nbx)                                                                                 \
    X(ucp_get_nbx)                                                                                 \
    X(ucp_atomic_op_nbx)                                                                           \
    X(ucp_request_free)                                                                            \
    X(ucs_status_string)

static struct {
#define X(name) __typeof__(&name) name;
    CALLS(X)
#undef X
} lib;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static void *handle;          // guarded by guard
static ucp_context_h context; // one for all workers; guarded by guard
static int n_worker;          // guarded by guard
static bool is_apart;         // guarded by guard
static bool must_guard;       // written at start-up

// Context: guard held.
static enum pli_err load(void)
{
    if (handle != NULL) {
        return PLI_OK;
    }
    if (strcmp(pli_conf.net_protect, "none") != 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "UCX cannot protect messages, which PLIANT_NET_PROTECT=%s asks for; use "
                        "PLIANT_NET=tcp or shm+tcp",
                        pli_conf.net_protect);
    }
    // It would print stacks of its own for a rank that crashes, and mpiexec has better words.
    setenv("UCX_HANDLE_ERRORS", "none", 0);
    void *found = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (found == NULL) {
        return pli_fail(PLI_ERR_OTHER, "UCX cannot be loaded (%s); install it (Debian: libucx0)",
                        dlerror());
    }
#define X(name)                                                                                    \
    {                                                                                              \
        void *f = dlsym(found, #name);                                                             \
        if (f == NULL) {                                                                           \
            dlclose(found);                                                                        \
            return pli_fail(PLI_ERR_OTHER, "this UCX has no function " #name "; 1.13 has");        \
        }                                                                                          \
        memcpy(&lib.name, &f, sizeof f);                                                           \
    }
    CALLS(X)
#undef X
    handle = found;
    return PLI_OK;
}

enum pli_err pli_ucx_version(char *text, size_t room)
{
    pthread_mutex_lock(&guard);
    enum pli_err err = load();
    pthread_mutex_unlock(&guard);
    if (err == PLI_OK) {
        snprintf(text, room, "%s", lib.ucp_get_version_string());
    }
    return err;
}

// Context: guard held.
static enum pli_err make_context(void)
{
    enum pli_err err = load();
    if (err != PLI_OK || context != NULL) {
        return err;
    }
    const ucp_params_t params = {
        .field_mask =
            UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
                    UCP_FEATURE_AMO64,
        .mt_workers_shared = 1,
        .name = "pliant",
    };
    // A device may do atomic operations on its own, which the processors here know nothing of. Ours
    // must be indivisible against those of processes of this host, which use the processor.
    ucp_config_t *config;
    ucs_status_t s = lib.ucp_config_read(NULL, NULL, &config);
    if (s == UCS_OK) {
        s = lib.ucp_config_modify(config, "ATOMIC_MODE", "cpu");
        if (s == UCS_OK && is_apart && getenv("UCX_TLS") == NULL) {
            s = lib.ucp_config_modify(config, "TLS", "^shm");
        }
        if (s == UCS_OK) {
            s = lib.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
        }
        lib.ucp_config_release(config);
    }
    if (s != UCS_OK) {
        context = NULL;
        return pli_fail(PLI_ERR_OTHER, "UCX cannot start: %s", lib.ucs_status_string(s));
    }
    return PLI_OK;
}

static ucs_status_t on_message(void *arg, const void *head, size_t n_head, void *data, size_t n,
                               const ucp_am_recv_param_t *param)
{
    struct pli_ucx *u = arg;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
        u->calls->handle(u->arg, head, n_head, data, n, NULL);
        return UCS_OK;
    }
    struct {
        void *desc;
    } offer = { data };
    u->calls->handle(u->arg, head, n_head, NULL, n, &offer);
    return offer.desc == NULL ? UCS_INPROGRESS : UCS_ERR_REJECTED;
}

void pli_ucx_avoid_shm(bool is_strict)
{
    pthread_mutex_lock(&guard);
    is_apart = true;
    must_guard = is_strict;
    pthread_mutex_unlock(&guard);
}

static enum pli_err hold_context(void)
{
    pthread_mutex_lock(&guard);
    enum pli_err err = make_context();
    n_worker += err == PLI_OK;
    pthread_mutex_unlock(&guard);
    return err;
}

static void drop_context(void)
{
    pthread_mutex_lock(&guard);
    if (--n_worker == 0) {
        lib.ucp_cleanup(context);
        context = NULL;
    }
    pthread_mutex_unlock(&guard);
}

enum pli_err pli_ucx_open(const struct pli_ucx_calls *calls, void *arg, struct pli_ucx **out)
{
    enum pli_err err = hold_context();
    if (err != PLI_OK) {
        return err;
    }
    struct pli_ucx *u = calloc(1, sizeof *u);
    if (u == NULL) {
        drop_context();
        return pli_fail(PLI_ERR_NOMEM, "no memory for a worker of UCX");
    }
    pli_list_init(&u->peers);
    u->calls = calls;
    u->arg = arg;
    const ucp_worker_params_t params = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                         .thread_mode = UCS_THREAD_MODE_SERIALIZED };
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = AM_ID,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = on_message,
        .arg = u,
    };
    ucs_status_t s = lib.ucp_worker_create(context, &params, &u->worker);
    if (s != UCS_OK) {
        free(u);
        drop_context();
        return pli_fail(PLI_ERR_OTHER, "UCX cannot make a worker: %s", lib.ucs_status_string(s));
    }
    s = lib.ucp_worker_get_efd(u->worker, &u->fd);
    s = s == UCS_OK ? lib.ucp_worker_set_am_recv_handler(u->worker, &handler) : s;
    if (s != UCS_OK) {
        pli_ucx_close(u);
        return pli_fail(PLI_ERR_OTHER, "UCX cannot wait for messages: %s",
                        lib.ucs_status_string(s));
    }
    *out = u;
    return PLI_OK;
}

static void free_peer(struct pli_ucx_peer *p)
{
    pli_list_remove(&p->at);
    free(p);
}

void pli_ucx_close(struct pli_ucx *u)
{
    if (u != NULL) {
        lib.ucp_worker_destroy(u->worker);
        while (!pli_list_is_empty(&u->peers)) {
            free_peer(PLI_CONTAINER(u->peers.next, struct pli_ucx_peer, at));
        }
        free(u);
        drop_context();
    }
}

void *pli_ucx_address(struct pli_ucx *u, size_t *n_out)
{
    ucp_address_t *a;
    if (lib.ucp_worker_get_address(u->worker, &a, n_out) != UCS_OK) {
        return NULL;
    }
    void *copy = malloc(*n_out);
    if (copy != NULL) {
        memcpy(copy, a, *n_out);
    }
    lib.ucp_worker_release_address(u->worker, a);
    return copy;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)ep;
    struct pli_ucx_peer *p = arg;
    if (!p->is_parted) {
        p->u->calls->lost(p->arg, lib.ucs_status_string(status));
    }
}

enum pli_err pli_ucx_connect(struct pli_ucx *u, const void *address, void *peer_arg,
                             struct pli_ucx_peer **out)
{
    struct pli_ucx_peer *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a peer");
    }
    *p = (struct pli_ucx_peer){ .u = u, .arg = peer_arg, .is_guarded = true };
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = { on_error, p },
    };
    ucs_status_t s = lib.ucp_ep_create(u->worker, &params, &p->ep);
    if (s != UCS_OK &&
        !must_guard) { // some transports have none, and the caller detects failures itself
        p->is_guarded = false;
        params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
        s = lib.ucp_ep_create(u->worker, &params, &p->ep);
    }
    if (s != UCS_OK) {
        free(p);
        return pli_fail(PLI_ERR_OTHER, "UCX cannot connect to it: %s", lib.ucs_status_string(s));
    }
    pli_list_push(&u->peers, &p->at);
    *out = p;
    return PLI_OK;
}

static void on_parted(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    lib.ucp_request_free(request);
    free_peer(arg);
}

bool pli_ucx_disconnect(struct pli_ucx_peer *p)
{
    p->is_parted = true;
    if (!p->is_guarded) {
        return false; // UCX would wait for the other side; what it holds goes with the worker
    }
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = UCP_EP_CLOSE_FLAG_FORCE,
        .cb.send = on_parted,
        .user_data = p,
    };
    ucs_status_ptr_t r = lib.ucp_ep_close_nbx(p->ep, &param);
    if (r == NULL || UCS_PTR_IS_ERR(r)) {
        free_peer(p);
    }
    return true;
}

static void end(void *request, ucs_status_t status, void *arg)
{
    struct pli_ucx_op *op = arg;
    lib.ucp_request_free(request);
    // The receiver did not want what it was offered: nothing is wrong with the connection.
    bool is_good = status == UCS_OK || status == UCS_ERR_REJECTED;
    op->done(op, is_good ? NULL : lib.ucs_status_string(status));
}

static void end_fetch(void *request, ucs_status_t status, size_t length, void *arg)
{
    (void)length;
    end(request, status, arg);
}

static ucp_request_param_t param_of(struct pli_ucx_op *op)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = end,
        .user_data = op,
    };
}

static enum pli_err result(ucs_status_ptr_t r)
{
    if (UCS_PTR_IS_ERR(r)) {
        return pli_fail(PLI_ERR_OTHER, "UCX: %s", lib.ucs_status_string(UCS_PTR_STATUS(r)));
    }
    return r == NULL ? PLI_OK : PLI_AGAIN;
}

enum pli_err pli_ucx_send(struct pli_ucx_peer *p, const void *head, size_t n_head, const void *data,
                          size_t n, bool is_large, struct pli_ucx_op *op)
{
    ucp_request_param_t param = param_of(op);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = is_large ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    return result(lib.ucp_am_send_nbx(p->ep, AM_ID, head, n_head, data, n, &param));
}

enum pli_err pli_ucx_fetch(struct pli_ucx *u, void *offer, void *to, size_t n,
                           struct pli_ucx_op *op)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = end_fetch,
        .user_data = op,
    };
    void **desc = offer, *taken = *desc;
    *desc = NULL;
    return result(lib.ucp_am_recv_data_nbx(u->worker, taken, to, n, &param));
}

enum pli_err pli_ucx_flush(struct pli_ucx_peer *p, struct pli_ucx_op *op)
{
    const ucp_request_param_t param = param_of(op);
    return result(lib.ucp_ep_flush_nbx(p->ep, &param));
}

// Map memory and make a copy of its key.
static ucs_status_t lend(struct pli_ucx_mem *m, void *at, size_t len)
{
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = at,
        .length = len,
    };
    ucp_mem_h mem;
    void *key;
    ucs_status_t s = lib.ucp_mem_map(context, &params, &mem);
    if (s != UCS_OK) {
        return s;
    }
    m->memory = mem;
    s = lib.ucp_rkey_pack(context, mem, &key, &m->n_key);
    if (s == UCS_OK) {
        m->key = malloc(m->n_key);
        if (m->key != NULL) {
            memcpy(m->key, key, m->n_key);
        }
        lib.ucp_rkey_buffer_release(key);
    }
    return s;
}

enum pli_err pli_ucx_mem_map(void *at, size_t len, struct pli_ucx_mem *out)
{
    struct pli_ucx_mem m = { 0 };
    ucs_status_t s = context != NULL ? lend(&m, at, len) : UCS_ERR_UNSUPPORTED;
    if (s != UCS_OK || m.key == NULL) {
        pli_ucx_mem_unmap(&m);
        return pli_fail(PLI_ERR_OTHER, "UCX cannot lend memory: %s",
                        s != UCS_OK ? lib.ucs_status_string(s) : "there is none for its key");
    }
    *out = m;
    return PLI_OK;
}

void pli_ucx_mem_unmap(struct pli_ucx_mem *m)
{
    if (m->memory != NULL) {
        lib.ucp_mem_unmap(context, m->memory);
    }
    free(m->key);
    *m = (struct pli_ucx_mem){ 0 };
}

enum pli_err pli_ucx_key_unpack(struct pli_ucx_peer *p, const void *key, struct pli_ucx_key **out)
{
    ucp_rkey_h rkey;
    ucs_status_t s = lib.ucp_ep_rkey_unpack(p->ep, key, &rkey);
    if (s != UCS_OK) {
        return pli_fail(PLI_ERR_OTHER, "UCX: %s", lib.ucs_status_string(s));
    }
    *out = (struct pli_ucx_key *)rkey;
    return PLI_OK;
}

void pli_ucx_key_destroy(struct pli_ucx_key *key)
{
    if (key != NULL) {
        lib.ucp_rkey_destroy((ucp_rkey_h)key);
    }
}

enum pli_err pli_ucx_put(struct pli_ucx_peer *p, const void *from, size_t n, uint64_t to,
                         struct pli_ucx_key *key, struct pli_ucx_op *op)
{
    const ucp_request_param_t param = param_of(op);
    return result(lib.ucp_put_nbx(p->ep, from, n, to, (ucp_rkey_h)key, &param));
}

enum pli_err pli_ucx_get(struct pli_ucx_peer *p, void *to, size_t n, uint64_t from,
                         struct pli_ucx_key *key, struct pli_ucx_op *op)
{
    const ucp_request_param_t param = param_of(op);
    return result(lib.ucp_get_nbx(p->ep, to, n, from, (ucp_rkey_h)key, &param));
}

enum pli_err pli_ucx_atomic(struct pli_ucx_peer *p, enum pli_ucx_atomic what, size_t size,
                            const void *a, void *fetch, uint64_t at, struct pli_ucx_key *key,
                            struct pli_ucx_op *op)
{
    static const ucp_atomic_op_t codes[] = {
        [PLI_UCX_ADD] = UCP_ATOMIC_OP_ADD,   [PLI_UCX_AND] = UCP_ATOMIC_OP_AND,
        [PLI_UCX_OR] = UCP_ATOMIC_OP_OR,     [PLI_UCX_XOR] = UCP_ATOMIC_OP_XOR,
        [PLI_UCX_SWAP] = UCP_ATOMIC_OP_SWAP, [PLI_UCX_CSWAP] = UCP_ATOMIC_OP_CSWAP,
    };
    ucp_request_param_t param = param_of(op);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    param.datatype = ucp_dt_make_contig(size);
    param.reply_buffer = fetch;
    return result(lib.ucp_atomic_op_nbx(p->ep, codes[what], a, 1, at, (ucp_rkey_h)key, &param));
}

int pli_ucx_progress(struct pli_ucx *u)
{
    return (int)lib.ucp_worker_progress(u->worker);
}

bool pli_ucx_arm(struct pli_ucx *u)
{
    return lib.ucp_worker_arm(u->worker) == UCS_OK;
}

int pli_ucx_fd(const struct pli_ucx *u)
{
    return u->fd;
}
