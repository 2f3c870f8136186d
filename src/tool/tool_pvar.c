// SPDX-License-Identifier: BSD-3-Clause
// Sessions and handles of performance variables.
#include "tool/tool_pvar.h"

#include "msg/statistics.h"
#include "obj/comm.h"
#include "tool/tool.h"
#include "tool/tool_enum.h"
#include "tool/tool_pool.h"
#include "tool/tool_pvar_list.h"

#include <string.h>

static int n_pvar;

struct session {
    int n_handle;
};
static struct pli_tool_pool sessions = { .size = sizeof(struct session) };

// The value is what was counted up to the last stop, and while it runs what the variable has gained
// since `base`.
struct handle {
    const struct pli_tool_pvar *var;
    struct session *session;
    MPI_Comm comm; // of a variable that is bound to one
    bool is_running;
    uint64_t value, base;
    struct pli_statistics_mark mark; // of a high-water mark that runs
};
static struct pli_tool_pool handles = { .size = sizeof(struct handle) };

void pli_tool_pvar_open(void)
{
    n_pvar = pli_tool_pvar_list_make();
}

int pli_tool_pvar_category(int i)
{
    return i < n_pvar ? pli_tool_pvar_list[i].category : -1;
}

int pli_tool_pvar_get_num(int *num)
{
    int code = pli_tool_check();
    if (code == MPI_SUCCESS && num == NULL) {
        return MPI_T_ERR_INVALID;
    }
    if (code == MPI_SUCCESS) {
        *num = n_pvar;
    }
    return code;
}

int pli_tool_pvar_get_info(int index, char *name, int *name_len, int *verbosity, int *var_class,
                           MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                           int *bind, int *readonly, int *continuous, int *atomic)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || index < 0 || index >= n_pvar) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_INDEX;
    }
    const struct pli_tool_pvar *v = &pli_tool_pvar_list[index];
    pli_tool_text(v->name, name, name_len);
    pli_tool_text(v->about, desc, desc_len);
    pli_tool_put(verbosity, v->verbosity);
    pli_tool_put(var_class, v->class);
    pli_tool_put(bind, v->bind);
    pli_tool_put(readonly, v->is_readonly);
    pli_tool_put(continuous, v->is_continuous);
    pli_tool_put(atomic, !v->is_readonly);
    if (datatype != NULL) {
        *datatype = v->type;
    }
    if (enumtype != NULL) {
        pli_tool_lock();
        *enumtype = v->words != NULL ? pli_tool_enum_of(v->name, v->words) : MPI_T_ENUM_NULL;
        pli_tool_unlock();
    }
    return MPI_SUCCESS;
}

int pli_tool_pvar_get_index(const char *name, int var_class, int *index)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (name == NULL || index == NULL) {
        return MPI_T_ERR_INVALID;
    }
    for (int i = 0; i < n_pvar; i++) {
        const struct pli_tool_pvar *v = &pli_tool_pvar_list[i];
        if (v->class == var_class && strcmp(v->name, name) == 0) {
            *index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int pli_tool_pvar_session_create(MPI_T_pvar_session *session)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || session == NULL) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID;
    }
    pli_tool_lock();
    struct session *s = pli_tool_pool_create(&sessions);
    pli_tool_unlock();
    if (s == NULL) {
        return MPI_T_ERR_OUT_OF_SESSIONS;
    }
    *session = (MPI_T_pvar_session)s;
    return MPI_SUCCESS;
}

// What the variable shows now. False: its communicator is gone.
static bool read_now(const struct handle *h, uint64_t *out)
{
    struct pli_comm *comm = NULL;
    if (h->var->bind == MPI_T_BIND_MPI_COMM) {
        comm = pli_comm_any(h->comm);
        if (comm == NULL) {
            return false;
        }
    }
    *out = h->var->now(h->var, comm);
    return true;
}

static bool is_mark(const struct handle *h)
{
    return h->var->class == MPI_T_PVAR_CLASS_HIGHWATERMARK;
}

static int start(struct handle *h)
{
    if (h->var->is_continuous) {
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    }
    if (h->is_running) {
        return MPI_SUCCESS;
    }
    pli_statistics_want(true);
    uint64_t now = 0;
    if (!read_now(h, &now)) {
        pli_statistics_want(false);
        return MPI_T_ERR_INVALID_HANDLE;
    }
    h->base = now;
    h->is_running = true;
    if (is_mark(h)) {
        uint64_t from = now > h->value ? now : h->value;
        pli_statistics_begin_mark(&h->mark, (enum pli_stat_gauge)h->var->gauge, from);
    }
    return MPI_SUCCESS;
}

// The value of a handle. False: its communicator is gone.
static bool value_of(const struct handle *h, uint64_t *out)
{
    uint64_t now = 0;
    if (is_mark(h)) {
        *out = h->is_running ? atomic_load(&h->mark.value) : h->value;
        return true;
    }
    if ((h->is_running || h->var->is_readonly) && !read_now(h, &now)) {
        return false;
    }
    *out = h->var->is_readonly ? now : h->value + (h->is_running ? now - h->base : 0);
    return true;
}

static int stop(struct handle *h)
{
    if (h->var->is_continuous) {
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    }
    if (h->is_running) {
        uint64_t value = h->value;
        if (value_of(h, &value)) {
            h->value = value;
        }
        if (is_mark(h)) {
            pli_statistics_end_mark(&h->mark);
        }
        h->is_running = false;
        pli_statistics_want(false);
    }
    return MPI_SUCCESS;
}

// Let the handle have a value, or the one that it begins with.
static int set(struct handle *h, const uint64_t *value)
{
    uint64_t now = 0;
    if (h->var->is_readonly) {
        return MPI_T_ERR_PVAR_NO_WRITE;
    }
    if ((h->is_running || (is_mark(h) && value == NULL)) && !read_now(h, &now)) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    h->base = now;
    h->value = value != NULL ? *value : is_mark(h) ? now : 0;
    atomic_store(&h->mark.value, h->value);
    return MPI_SUCCESS;
}

static int reset(struct handle *h)
{
    return set(h, NULL);
}

// A value as the user sees it.
static void put(const struct handle *h, uint64_t value, void *buf)
{
    if (h->var->type == MPI_INT) {
        *(int *)buf = (int)value;
    } else if (h->var->type == MPI_DOUBLE) {
        *(double *)buf = (double)value / (h->var->class == MPI_T_PVAR_CLASS_TIMER ? 1e9 : 1e6);
    } else {
        *(unsigned long long *)buf = value;
    }
}

static uint64_t get(const struct handle *h, const void *buf)
{
    return h->var->type == MPI_DOUBLE ? (uint64_t)(*(const double *)buf * 1e9)
                                      : *(const unsigned long long *)buf;
}

static void drop(struct handle *h)
{
    if (!h->var->is_continuous) {
        stop(h);
    }
    h->session->n_handle--;
    pli_tool_pool_destroy(&handles, h);
}

void pli_tool_pvar_close(void)
{
    void *it;
    while ((it = pli_tool_pool_next(&handles, NULL)) != NULL) {
        drop(it);
    }
    while ((it = pli_tool_pool_next(&sessions, NULL)) != NULL) {
        pli_tool_pool_destroy(&sessions, it);
    }
}

int pli_tool_pvar_session_free(MPI_T_pvar_session *session)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_lock();
    bool is_one = session != NULL && pli_tool_pool_has(&sessions, *session);
    if (is_one) {
        struct handle *h = NULL;
        while ((h = pli_tool_pool_next(&handles, h)) != NULL) {
            if (h->session == (struct session *)*session) {
                drop(h);
            }
        }
        pli_tool_pool_destroy(&sessions, *session);
        *session = MPI_T_PVAR_SESSION_NULL;
    }
    pli_tool_unlock();
    return is_one ? MPI_SUCCESS : MPI_T_ERR_INVALID_SESSION;
}

int pli_tool_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object,
                               MPI_T_pvar_handle *handle, int *count)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || index < 0 || index >= n_pvar) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_INDEX;
    }
    const struct pli_tool_pvar *v = &pli_tool_pvar_list[index];
    bool is_bound = v->bind == MPI_T_BIND_MPI_COMM;
    if (handle == NULL || (is_bound && (object == NULL || !pli_comm_any(*(MPI_Comm *)object)))) {
        return MPI_T_ERR_INVALID;
    }
    pli_tool_lock();
    struct handle *h = NULL;
    if (!pli_tool_pool_has(&sessions, session)) {
        code = MPI_T_ERR_INVALID_SESSION;
    } else if ((h = pli_tool_pool_create(&handles)) == NULL) {
        code = MPI_T_ERR_OUT_OF_HANDLES;
    } else {
        h->var = v;
        h->session = (struct session *)session;
        h->session->n_handle++;
        h->comm = is_bound ? *(MPI_Comm *)object : MPI_COMM_NULL;
        h->is_running = v->is_continuous;
        read_now(h, &h->base);
        *handle = (MPI_T_pvar_handle)h;
        pli_tool_put(count, 1);
    }
    pli_tool_unlock();
    return code;
}

// Why a session and a handle cannot be used; MPI_SUCCESS: they can. Context: pli_tool_lock.
static int check(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    if (!pli_tool_pool_has(&sessions, session)) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    bool is_one = pli_tool_pool_has(&handles, handle) &&
                  ((struct handle *)handle)->session == (struct session *)session;
    return is_one ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

int pli_tool_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || handle == NULL) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_HANDLE;
    }
    pli_tool_lock();
    code = check(session, *handle);
    if (code == MPI_SUCCESS) {
        drop((struct handle *)*handle);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    }
    pli_tool_unlock();
    return code;
}

// Do something with one handle, or with all of a session that allow it.
static int act(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int (*fn)(struct handle *h))
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_lock();
    if (handle != MPI_T_PVAR_ALL_HANDLES) {
        code = check(session, handle);
        code = code == MPI_SUCCESS ? fn((struct handle *)handle) : code;
    } else if (!pli_tool_pool_has(&sessions, session)) {
        code = MPI_T_ERR_INVALID_SESSION;
    } else {
        struct handle *h = NULL;
        while ((h = pli_tool_pool_next(&handles, h)) != NULL) {
            int one = h->session == (struct session *)session ? fn(h) : MPI_SUCCESS;
            bool is_meant = one != MPI_T_ERR_PVAR_NO_STARTSTOP && one != MPI_T_ERR_PVAR_NO_WRITE;
            code = is_meant && one != MPI_SUCCESS ? one : code;
        }
    }
    pli_tool_unlock();
    return code;
}

int pli_tool_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act(session, handle, start);
}

int pli_tool_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act(session, handle, stop);
}

int pli_tool_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act(session, handle, reset);
}

// One handle and a buffer, both there.
static int check_buffer(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    int code = check(session, handle);
    return code != MPI_SUCCESS ? code : buf == NULL ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

int pli_tool_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_lock();
    code = check_buffer(session, handle, buf);
    if (code == MPI_SUCCESS) {
        struct handle *h = (struct handle *)handle;
        uint64_t value;
        if (value_of(h, &value)) {
            put(h, value, buf);
        } else {
            code = MPI_T_ERR_INVALID_HANDLE;
        }
    }
    pli_tool_unlock();
    return code;
}

int pli_tool_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_lock();
    code = check_buffer(session, handle, buf);
    if (code == MPI_SUCCESS) {
        struct handle *h = (struct handle *)handle;
        uint64_t value;
        if (h->var->is_readonly) {
            code = MPI_T_ERR_PVAR_NO_ATOMIC;
        } else if (!value_of(h, &value)) {
            code = MPI_T_ERR_INVALID_HANDLE;
        } else {
            put(h, value, buf);
            h->value -= is_mark(h) ? 0 : value; // what is counted meanwhile is not lost
            code = is_mark(h) ? reset(h) : MPI_SUCCESS;
        }
    }
    pli_tool_unlock();
    return code;
}

int pli_tool_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_lock();
    code = check_buffer(session, handle, buf);
    if (code == MPI_SUCCESS) {
        struct handle *h = (struct handle *)handle;
        uint64_t value = h->var->is_readonly ? 0 : get(h, buf);
        code = set(h, &value);
    }
    pli_tool_unlock();
    return code;
}
