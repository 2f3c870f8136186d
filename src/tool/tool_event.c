// SPDX-License-Identifier: BSD-3-Clause
// Types of events and who wants them. The engine notes an event where it happens (msg/event.h);
// callbacks are called soon afterwards, where a program may call MPI. One is called at a time.
#include "tool/tool_event.h"

#include "base/clock.h"
#include "msg/event.h"
#include "msg/statistics.h"
#include "obj/info.h"
#include "tool/tool.h"
#include "tool/tool_category.h"
#include "tool/tool_enum.h"
#include "tool/tool_pool.h"

#include <string.h>

enum { N_SAFETY = 4 };
enum { SOURCE_ENGINE, SOURCE_JOB, N_SOURCE };

// The elements of an event, all in slots of 8 bytes. Numbers above 32 bits are MPI_COUNT.
static const struct type {
    const char *name, *about;
    const char *elements; // their names
    uint32_t wide;        // bits: elements that are MPI_COUNT
    int n_element, source, category;
    bool is_counted; // it happens only where statistics are kept
} types[PLI_EVENT_N] = {
    [PLI_EVENT_UNEXPECTED] = { "unexpected_message", "a message came before its receive",
                               "source|tag|bytes|context", 0xc, 4, SOURCE_ENGINE, PLI_TOOL_MESSAGE,
                               true },
    [PLI_EVENT_WAIT_BEGIN] = { "wait_begin", "a call has to wait", "requests|context", 0x2, 2,
                               SOURCE_ENGINE, PLI_TOOL_PROGRESS, true },
    [PLI_EVENT_WAIT_END] = { "wait_end", "a call that had to wait goes on",
                             "requests|context|nanoseconds", 0x6, 3, SOURCE_ENGINE,
                             PLI_TOOL_PROGRESS, true },
    [PLI_EVENT_CONNECT] = { "connect", "another process was first met", "process|transport", 0, 2,
                            SOURCE_ENGINE, PLI_TOOL_TRANSPORT, false },
    [PLI_EVENT_FAILURE] = { "failure", "processes of the job have failed", "failed", 0, 1,
                            SOURCE_JOB, PLI_TOOL_FAULT, false },
    [PLI_EVENT_RESIZE] = { "resize", "MPI_COMM_WORLD has another size", "version|size", 0, 2,
                           SOURCE_JOB, PLI_TOOL_FAULT, false },
    [PLI_EVENT_CHECKPOINT] = { "checkpoint", "a checkpoint was made, or the job began from one",
                               "checkpoints", 0, 1, SOURCE_JOB, PLI_TOOL_FAULT, true },
};

static const struct {
    const char *name, *about;
} sources[N_SOURCE] = {
    [SOURCE_ENGINE] = { "engine", "messages, waits and connections of this process" },
    [SOURCE_JOB] = { "job", "what happens to the job as a whole" },
};

static const MPI_T_cb_safety safeties[N_SAFETY] = { MPI_T_CB_REQUIRE_NONE,
                                                    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                                                    MPI_T_CB_REQUIRE_THREAD_SAFE,
                                                    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE };

struct registration {
    enum pli_event_type type;
    struct {
        MPI_T_event_cb_function *fn;
        void *user_data;
    } callback[N_SAFETY];
    MPI_T_event_dropped_cb_function *dropped;
    bool is_called, is_freed; // it goes when its callback returns
    MPI_T_event_free_cb_function *free_fn;
    void *free_data;
};
static struct pli_tool_pool registrations = { .size = sizeof(struct registration) };
static int n_wanted[PLI_EVENT_N];
static const struct pli_event *current; // whose callbacks are being called

static void want(enum pli_event_type type, bool is_wanted)
{
    n_wanted[type] += is_wanted ? 1 : -1;
    if (types[type].is_counted) {
        pli_statistics_want(is_wanted);
    }
    if (n_wanted[type] > 0) {
        atomic_fetch_or(&pli_event_wanted, 1u << type);
    } else {
        atomic_fetch_and(&pli_event_wanted, ~(1u << type));
    }
}

// The callback for a context in which all may be called: the one that asks for the least.
static int pick(const struct registration *r)
{
    int i = 0;
    while (i < N_SAFETY && r->callback[i].fn == NULL) {
        i++;
    }
    return i;
}

// Give a registration back after its last callback. Context: pli_tool_lock is held, and dropped for
// the call.
static void end(struct registration *r)
{
    struct registration was = *r;
    pli_tool_pool_destroy(&registrations, r);
    if (was.free_fn != NULL) {
        pli_tool_unlock();
        was.free_fn((MPI_T_event_registration)r, MPI_T_CB_REQUIRE_NONE, was.free_data);
        pli_tool_lock();
    }
}

// Call what each registration of a type wants to be called. n_dropped: 0 for an event.
static void call_all(enum pli_event_type type, uint64_t n_dropped)
{
    struct registration *r = NULL;
    pli_tool_lock();
    while ((r = pli_tool_pool_next(&registrations, r)) != NULL) {
        int i = pick(r);
        MPI_T_event_cb_function *fn = i < N_SAFETY ? r->callback[i].fn : NULL;
        void *data = i < N_SAFETY ? r->callback[i].user_data : NULL;
        MPI_T_event_registration handle = (MPI_T_event_registration)r;
        if (r->type == type && !r->is_freed && (n_dropped != 0 ? r->dropped != NULL : fn != NULL)) {
            MPI_T_event_dropped_cb_function *dropped = r->dropped;
            r->is_called = true;
            pli_tool_unlock();
            if (n_dropped != 0) {
                dropped((MPI_Count)n_dropped, handle, types[type].source, MPI_T_CB_REQUIRE_NONE,
                        data);
            } else {
                fn((MPI_T_event_instance)current, handle, MPI_T_CB_REQUIRE_NONE, data);
            }
            pli_tool_lock();
            r->is_called = false;
        }
        if (r->is_freed) {
            end(r);
        }
    }
    pli_tool_unlock();
}

static void take(const struct pli_event *e)
{
    pli_tool_lock();
    current = e;
    pli_tool_unlock();
    call_all(e->type, 0);
    pli_tool_lock();
    current = NULL;
    pli_tool_unlock();
}

static const struct pli_event_sink sink = { .take = take, .dropped = call_all };

void pli_tool_event_open(void)
{
    pli_event_open(&sink);
}

void pli_tool_event_drain(void)
{
    pli_event_drain();
}

void pli_tool_event_close(void)
{
    struct registration *r = NULL;
    while ((r = pli_tool_pool_next(&registrations, r)) != NULL) {
        if (!r->is_freed) {
            want(r->type, false);
        }
        r->is_freed = true;
        if (!r->is_called) {
            pli_tool_pool_destroy(&registrations, r);
        }
    }
}

int pli_tool_event_category(int i)
{
    return i < PLI_EVENT_N ? types[i].category : -1;
}

int pli_tool_event_get_num(int *num)
{
    int code = pli_tool_check();
    if (code == MPI_SUCCESS && num == NULL) {
        return MPI_T_ERR_INVALID;
    }
    if (code == MPI_SUCCESS) {
        *num = PLI_EVENT_N;
    }
    return code;
}

static int check_index(int index)
{
    int code = pli_tool_check();
    return code != MPI_SUCCESS                 ? code
           : index < 0 || index >= PLI_EVENT_N ? MPI_T_ERR_INVALID_INDEX
                                               : MPI_SUCCESS;
}

static MPI_Datatype type_of(const struct type *t, int element)
{
    return (t->wide >> element & 1) != 0 ? MPI_COUNT : MPI_INT;
}

// An info object for the user, who frees it: there is nothing to say. False: no memory.
static bool make_info(MPI_Info *out)
{
    struct pli_info *info;
    if (out == NULL) {
        return true;
    }
    if (pli_info_create(&info) != PLI_OK) {
        return false;
    }
    *out = (MPI_Info)pli_handle_of(info, PLI_KIND_INFO);
    return true;
}

static bool is_info(MPI_Info info)
{
    return info == MPI_INFO_NULL || pli_handle_get(info, PLI_KIND_INFO) != NULL;
}

int pli_tool_event_get_info(int index, char *name, int *name_len, int *verbosity,
                            MPI_Datatype array[], MPI_Aint displacements[], int *num_elements,
                            MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
                            int *bind)
{
    int code = check_index(index);
    if (code != MPI_SUCCESS) {
        return code;
    }
    const struct type *t = &types[index];
    for (int i = 0; num_elements != NULL && i < *num_elements && i < t->n_element; i++) {
        if (array != NULL) {
            array[i] = type_of(t, i);
        }
        if (displacements != NULL) {
            displacements[i] = (MPI_Aint)sizeof(int64_t) * i;
        }
    }
    pli_tool_put(num_elements, t->n_element);
    pli_tool_text(t->name, name, name_len);
    pli_tool_text(t->about, desc, desc_len);
    pli_tool_put(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
    pli_tool_put(bind, MPI_T_BIND_NO_OBJECT);
    if (enumtype != NULL) {
        pli_tool_lock();
        *enumtype = pli_tool_enum_of(t->name, t->elements);
        pli_tool_unlock();
    }
    return make_info(info) ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

int pli_tool_event_get_index(const char *name, int *index)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || name == NULL || index == NULL) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID;
    }
    for (int i = 0; i < PLI_EVENT_N; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int pli_tool_event_handle_alloc(int index, void *object, MPI_Info info,
                                MPI_T_event_registration *registration)
{
    (void)object; // no type is bound to one
    int code = check_index(index);
    if (code != MPI_SUCCESS || registration == NULL || !is_info(info)) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID;
    }
    pli_tool_lock();
    struct registration *r = pli_tool_pool_create(&registrations);
    if (r != NULL) {
        r->type = (enum pli_event_type)index;
        want(r->type, true);
        *registration = (MPI_T_event_registration)r;
    }
    pli_tool_unlock();
    return r != NULL ? MPI_SUCCESS : MPI_T_ERR_OUT_OF_HANDLES;
}

// The registration that a handle names, with pli_tool_lock held; NULL, and not held: *code_out says
// why there is none.
static struct registration *enter(MPI_T_event_registration handle, int *code_out)
{
    *code_out = pli_tool_check();
    if (*code_out != MPI_SUCCESS) {
        return NULL;
    }
    pli_tool_lock();
    struct registration *r = (struct registration *)handle;
    if (pli_tool_pool_has(&registrations, r) && !r->is_freed) {
        return r;
    }
    pli_tool_unlock();
    *code_out = MPI_T_ERR_INVALID_HANDLE;
    return NULL;
}

// The same for calls that only need one that is there.
static int check(MPI_T_event_registration handle)
{
    int code;
    if (enter(handle, &code) != NULL) {
        pli_tool_unlock();
    }
    return code;
}

static int index_of(MPI_T_cb_safety safety)
{
    int i = 0;
    while (i < N_SAFETY && safeties[i] != safety) {
        i++;
    }
    return i < N_SAFETY ? i : -1;
}

int pli_tool_event_handle_set_info(MPI_T_event_registration handle, MPI_Info info)
{
    int code = check(handle);
    return code == MPI_SUCCESS && !is_info(info) ? MPI_T_ERR_INVALID : code;
}

int pli_tool_event_handle_get_info(MPI_T_event_registration handle, MPI_Info *info)
{
    int code = check(handle);
    if (code == MPI_SUCCESS && info == NULL) {
        return MPI_T_ERR_INVALID;
    }
    return code == MPI_SUCCESS && !make_info(info) ? MPI_T_ERR_MEMORY : code;
}

int pli_tool_event_register_callback(MPI_T_event_registration handle, MPI_T_cb_safety safety,
                                     MPI_Info info, void *user_data, MPI_T_event_cb_function fn)
{
    int i = index_of(safety), code;
    struct registration *r = enter(handle, &code);
    if (r == NULL) {
        return code;
    }
    if (i < 0 || !is_info(info)) {
        code = MPI_T_ERR_INVALID;
    } else {
        r->callback[i].fn = fn;
        r->callback[i].user_data = user_data;
    }
    pli_tool_unlock();
    return code;
}

int pli_tool_event_callback_set_info(MPI_T_event_registration handle, MPI_T_cb_safety safety,
                                     MPI_Info info)
{
    int code = check(handle);
    return code == MPI_SUCCESS && (index_of(safety) < 0 || !is_info(info)) ? MPI_T_ERR_INVALID
                                                                           : code;
}

int pli_tool_event_callback_get_info(MPI_T_event_registration handle, MPI_T_cb_safety safety,
                                     MPI_Info *info)
{
    int code = check(handle);
    if (code == MPI_SUCCESS && (index_of(safety) < 0 || info == NULL)) {
        return MPI_T_ERR_INVALID;
    }
    return code == MPI_SUCCESS && !make_info(info) ? MPI_T_ERR_MEMORY : code;
}

int pli_tool_event_handle_free(MPI_T_event_registration handle, void *user_data,
                               MPI_T_event_free_cb_function fn)
{
    pli_event_drain();
    int code;
    struct registration *r = enter(handle, &code);
    if (r == NULL) {
        return code;
    }
    want(r->type, false);
    r->is_freed = true;
    r->free_fn = fn;
    r->free_data = user_data;
    if (!r->is_called) {
        end(r);
    }
    pli_tool_unlock();
    return MPI_SUCCESS;
}

int pli_tool_event_set_dropped_handler(MPI_T_event_registration handle,
                                       MPI_T_event_dropped_cb_function fn)
{
    int code;
    struct registration *r = enter(handle, &code);
    if (r != NULL) {
        r->dropped = fn;
        pli_tool_unlock();
    }
    return code;
}

// The event that a handle names, NULL: *code_out says why not. It stays while its callback runs,
// and may be used there only.
static const struct pli_event *find(MPI_T_event_instance handle, const void *out, int *code_out)
{
    *code_out = pli_tool_check();
    if (*code_out != MPI_SUCCESS) {
        return NULL;
    }
    pli_tool_lock();
    const struct pli_event *e = current;
    pli_tool_unlock();
    bool is_one = e != NULL && (const void *)handle == (const void *)e;
    *code_out = !is_one ? MPI_T_ERR_INVALID_HANDLE : out == NULL ? MPI_T_ERR_INVALID : MPI_SUCCESS;
    return *code_out == MPI_SUCCESS ? e : NULL;
}

static void put(const struct pli_event *e, int element, void *to)
{
    int narrow = (int)e->word[element];
    if (type_of(&types[e->type], element) == MPI_COUNT) {
        memcpy(to, &e->word[element], sizeof e->word[element]);
    } else {
        memcpy(to, &narrow, sizeof narrow);
    }
}

int pli_tool_event_read(MPI_T_event_instance handle, int element, void *buf)
{
    int code;
    const struct pli_event *e = find(handle, buf, &code);
    if (e == NULL) {
        return code;
    }
    if (element < 0 || element >= types[e->type].n_element) {
        return MPI_T_ERR_INVALID_ITEM;
    }
    put(e, element, buf);
    return MPI_SUCCESS;
}

int pli_tool_event_copy(MPI_T_event_instance handle, void *buf)
{
    int code;
    const struct pli_event *e = find(handle, buf, &code);
    for (int i = 0; e != NULL && i < types[e->type].n_element; i++) {
        put(e, i, (char *)buf + sizeof(int64_t) * (size_t)i);
    }
    return code;
}

int pli_tool_event_get_timestamp(MPI_T_event_instance handle, MPI_Count *timestamp)
{
    int code;
    const struct pli_event *e = find(handle, timestamp, &code);
    if (e != NULL) {
        *timestamp = (MPI_Count)e->time_ns;
    }
    return code;
}

int pli_tool_event_get_source(MPI_T_event_instance handle, int *source)
{
    int code;
    const struct pli_event *e = find(handle, source, &code);
    if (e != NULL) {
        *source = types[e->type].source;
    }
    return code;
}

int pli_tool_event_source_get_num(int *num)
{
    int code = pli_tool_check();
    if (code == MPI_SUCCESS && num == NULL) {
        return MPI_T_ERR_INVALID;
    }
    if (code == MPI_SUCCESS) {
        *num = N_SOURCE;
    }
    return code;
}

int pli_tool_event_source_get_info(int index, char *name, int *name_len, char *desc, int *desc_len,
                                   MPI_T_source_order *ordering, MPI_Count *ticks_per_second,
                                   MPI_Count *max_ticks, MPI_Info *info)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || index < 0 || index >= N_SOURCE) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_INDEX;
    }
    pli_tool_text(sources[index].name, name, name_len);
    pli_tool_text(sources[index].about, desc, desc_len);
    if (ordering != NULL) {
        *ordering = MPI_T_SOURCE_ORDERED; // one queue, in which the time is taken
    }
    if (ticks_per_second != NULL) {
        *ticks_per_second = 1000000000;
    }
    if (max_ticks != NULL) {
        *max_ticks = INT64_MAX;
    }
    return make_info(info) ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

int pli_tool_event_source_get_timestamp(int index, MPI_Count *timestamp)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || index < 0 || index >= N_SOURCE) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_INDEX;
    }
    if (timestamp == NULL) {
        return MPI_T_ERR_INVALID;
    }
    *timestamp = (MPI_Count)pli_clock_ns();
    return MPI_SUCCESS;
}
