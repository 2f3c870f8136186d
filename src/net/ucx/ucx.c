// SPDX-License-Identifier: BSD-3-Clause
// Only the headers of UCX are needed to build this; its library is looked for when it is wanted,
// so that a program runs where there is none.
#include "net/ucx/ucx.h"

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
};

struct pli_ucx_peer {
    struct pli_ucx *u;
    ucp_ep_h ep;
    bool is_guarded; // UCX itself looks whether the other side lives
    void *arg;
};

#define CALLS(X)                                                                                   \
    X(ucp_get_version)                                                                             \
    X(ucp_get_version_string)                                                                      \
    X(ucp_init_version)                                                                            \
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

// Context: guard held.
static enum pli_err load(void)
{
    if (handle != NULL) {
        return PLI_OK;
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
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1,
        .name = "pliant",
    };
    ucs_status_t s = lib.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, NULL, &context);
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
        u->calls->hear(u->arg, head, n_head, data, n, NULL);
        return UCS_OK;
    }
    struct {
        void *desc;
    } offer = { data };
    u->calls->hear(u->arg, head, n_head, NULL, n, &offer);
    return offer.desc == NULL ? UCS_INPROGRESS : UCS_ERR_REJECTED;
}

enum pli_err pli_ucx_open(const struct pli_ucx_calls *calls, void *arg, struct pli_ucx **out)
{
    pthread_mutex_lock(&guard);
    enum pli_err err = make_context();
    pthread_mutex_unlock(&guard);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_ucx *u = calloc(1, sizeof *u);
    if (u == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a worker of UCX");
    }
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

void pli_ucx_close(struct pli_ucx *u)
{
    if (u != NULL) {
        lib.ucp_worker_destroy(u->worker);
        free(u);
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
    p->u->calls->lost(p->arg, lib.ucs_status_string(status));
}

enum pli_err pli_ucx_meet(struct pli_ucx *u, const void *address, void *peer_arg,
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
    if (s != UCS_OK) { // some ways have no such guard, and the caller has one of its own
        p->is_guarded = false;
        params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
        s = lib.ucp_ep_create(u->worker, &params, &p->ep);
    }
    if (s != UCS_OK) {
        free(p);
        return pli_fail(PLI_ERR_OTHER, "UCX has no way there: %s", lib.ucs_status_string(s));
    }
    *out = p;
    return PLI_OK;
}

static void on_parted(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    lib.ucp_request_free(request);
    free(arg);
}

void pli_ucx_part(struct pli_ucx_peer *p)
{
    if (!p->is_guarded) {
        return; // UCX would wait for the other side; what it holds goes with the process
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
        free(p);
    }
}

static void end(void *request, ucs_status_t status, void *arg)
{
    struct pli_ucx_op *op = arg;
    lib.ucp_request_free(request);
    op->done(op, status == UCS_OK ? NULL : lib.ucs_status_string(status));
}

static void end_fetch(void *request, ucs_status_t status, size_t length, void *arg)
{
    (void)length;
    end(request, status, arg);
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
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = is_large ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER,
        .cb.send = end,
        .user_data = op,
    };
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
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = end,
        .user_data = op,
    };
    return result(lib.ucp_ep_flush_nbx(p->ep, &param));
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
