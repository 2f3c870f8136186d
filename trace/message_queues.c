// SPDX-License-Identifier: BSD-3-Clause
// libpliant_dbg.so: a debugger loads it to show the communicators and message queues of a rank that
// stands still. It reads the rank's memory through the debugger, and believes nothing it finds
// there: lists that do not end are cut off.
#include "trace/message_queues.h"

#include "glue/debug_wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NO_LAYOUT = mqs_first_user_code, // codes of errors
    BAD_LAYOUT,
    CANNOT_READ,
    NO_MEMORY,
    N_STEP = 1 << 20, // of a list
    N_MEMBER = 1 << 24,
    NAME = sizeof((mqs_communicator *)0)->name
};

static const mqs_basic_callbacks *debugger;

struct _mqs_image_info {
    const mqs_image_callbacks *calls;
};

struct operation {
    uint64_t order;
    mqs_pending_operation it;
};

struct communicator {
    uint64_t address, context, endpoint, group;
    mqs_communicator it;
};

struct _mqs_process_info {
    const mqs_process_callbacks *calls;
    struct pli_debug_layout layout;
    bool has_layout;
    struct communicator *comms;
    size_t n_comm, at_comm;
    struct operation *operations; // of the queue that is looked at
    size_t n_operation, at_operation;
};

// What is read, and whether all of it could be.
struct reader {
    mqs_process *process;
    struct _mqs_process_info *info;
    bool is_bad;
};

static uint64_t read_number(struct reader *r, uint64_t from, int size)
{
    union {
        unsigned char bytes[8];
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } raw, v = { .u64 = 0 };
    if (r->is_bad || from == 0 ||
        r->info->calls->mqs_fetch_data_fp(r->process, from, size, raw.bytes) != mqs_ok) {
        r->is_bad = true;
        return 0;
    }
    r->info->calls->mqs_target_to_host_fp(r->process, raw.bytes, v.bytes, size);
    return size == 2 ? v.u16 : size == 4 ? v.u32 : v.u64;
}

static uint64_t at(const struct reader *r, uint64_t object, int field)
{
    return object == 0 ? 0 : object + r->info->layout.fields[field];
}

static uint64_t read_u64(struct reader *r, uint64_t object, int field)
{
    return read_number(r, at(r, object, field), 8);
}

static uint32_t read_u32(struct reader *r, uint64_t object, int field)
{
    return (uint32_t)read_number(r, at(r, object, field), 4);
}

static int32_t read_i32(struct reader *r, uint64_t object, int field)
{
    return (int32_t)read_u32(r, object, field);
}

static uint32_t read_u16(struct reader *r, uint64_t object, int field)
{
    return (uint32_t)read_number(r, at(r, object, field), 2);
}

static struct reader reader_of(mqs_process *process)
{
    return (struct reader){ process, debugger->mqs_get_process_info_fp(process), false };
}

// The rank in MPI_COMM_WORLD of a member, as far as it is of this world; -1 for the wildcard.
static mqs_tword_t global_rank(struct reader *r, uint64_t group, int32_t rank)
{
    uint32_t n = read_u32(r, group, PLI_DEBUG_group_n_run);
    uint64_t run = read_u64(r, group, PLI_DEBUG_group_runs);
    for (uint32_t i = 0; rank >= 0 && i < n && i < N_STEP && !r->is_bad; i++) {
        int32_t base = read_i32(r, run, PLI_DEBUG_group_run_base);
        if (rank >= base && rank < base + read_i32(r, run, PLI_DEBUG_group_run_n)) {
            uint32_t first = (uint32_t)read_u64(r, run, PLI_DEBUG_group_run_first);
            return (mqs_tword_t)first +
                   (mqs_tword_t)read_i32(r, run, PLI_DEBUG_group_run_proc_step) * (rank - base);
        }
        run += r->info->layout.size_run;
    }
    return MQS_INVALID_PROCESS;
}

static struct operation *add_operation(struct reader *r)
{
    struct _mqs_process_info *info = r->info;
    if (info->n_operation % 64 == 0) {
        void *more =
            reallocarray(info->operations, info->n_operation + 64, sizeof *info->operations);
        if (more == NULL) {
            r->is_bad = true;
            return NULL;
        }
        info->operations = more;
    }
    struct operation *o = &info->operations[info->n_operation++];
    memset(o, 0, sizeof *o);
    return o;
}

static void add_posted(struct reader *r, const struct communicator *c, uint64_t item)
{
    uint64_t request = item - r->info->layout.fields[PLI_DEBUG_request_item];
    struct operation *o = add_operation(r);
    if (o == NULL) {
        return;
    }
    int32_t source = read_i32(r, item, PLI_DEBUG_match_item_source);
    int32_t tag = read_i32(r, item, PLI_DEBUG_match_item_tag);
    o->order = read_u64(r, item, PLI_DEBUG_match_item_seq);
    o->it.status = mqs_st_pending;
    o->it.desired_local_rank = source >= 0 ? source : -1;
    o->it.desired_global_rank = global_rank(r, c->group, source);
    o->it.tag_wild = tag < 0;
    o->it.desired_tag = tag;
    o->it.desired_length = (mqs_tword_t)read_u64(r, request, PLI_DEBUG_request_size);
    o->it.buffer = read_u64(r, request, PLI_DEBUG_request_buf);
}

static int compare(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static void list_posted(struct reader *r, const struct communicator *c)
{
    uint64_t match = at(r, c->endpoint, PLI_DEBUG_endpoint_match);
    uint64_t table = at(r, match, PLI_DEBUG_match_posted);
    uint64_t bucket = read_u64(r, table, PLI_DEBUG_match_table_bucket);
    uint32_t n = read_u32(r, table, PLI_DEBUG_match_table_n_bucket), n_step = 0;
    for (uint32_t i = 0; bucket != 0 && i < n && !r->is_bad; i++) {
        uint64_t item = read_u64(r, bucket + (uint64_t)i * r->info->layout.size_bucket,
                                 PLI_DEBUG_match_bucket_first);
        while (item != 0 && !r->is_bad && n_step++ < N_STEP) {
            if (read_u64(r, item, PLI_DEBUG_match_item_context) == c->context) {
                add_posted(r, c, item);
            }
            item = read_u64(r, item, PLI_DEBUG_match_item_next);
        }
    }
    if (r->info->n_operation > 0) {
        qsort(r->info->operations, r->info->n_operation, sizeof *r->info->operations, compare);
    }
}

static void list_unexpected(struct reader *r, const struct communicator *c)
{
    uint64_t match = at(r, c->endpoint, PLI_DEBUG_endpoint_match);
    uint64_t item =
        read_u64(r, at(r, match, PLI_DEBUG_match_arrival), PLI_DEBUG_match_bucket_first);
    for (uint32_t i = 0; item != 0 && !r->is_bad && i < N_STEP; i++) {
        struct operation *o = NULL;
        if (read_u64(r, item, PLI_DEBUG_match_item_context) == c->context) {
            o = add_operation(r);
        }
        if (o != NULL) {
            uint64_t message = item - r->info->layout.fields[PLI_DEBUG_unexpected_item];
            unsigned char kind = 0;
            r->is_bad |=
                r->info->calls->mqs_fetch_data_fp(
                    r->process, at(r, message, PLI_DEBUG_unexpected_kind), 1, &kind) != mqs_ok;
            bool has_data = kind == r->info->layout.kind_eager;
            int32_t source = read_i32(r, item, PLI_DEBUG_match_item_source);
            o->it.status = mqs_st_matched; // by its sender; no receive has come for it
            o->it.desired_local_rank = o->it.actual_local_rank = source;
            o->it.desired_global_rank = o->it.actual_global_rank = global_rank(r, c->group, source);
            o->it.desired_tag = o->it.actual_tag = read_i32(r, item, PLI_DEBUG_match_item_tag);
            o->it.desired_length = o->it.actual_length =
                (mqs_tword_t)read_u64(r, message, PLI_DEBUG_unexpected_size);
            o->it.system_buffer = 1;
            o->it.buffer = has_data ? at(r, message, PLI_DEBUG_unexpected_data) : 0;
            snprintf(o->it.extra_text[0], sizeof o->it.extra_text[0], "%s",
                     has_data ? "the data is here" : "offered: the data is at the sender");
        }
        item = read_u64(r, item, PLI_DEBUG_match_item_later);
    }
}

// A send on this communicator that is under way.
static void add_send(struct reader *r, const struct communicator *c, uint64_t request)
{
    const struct pli_debug_layout *l = &r->info->layout;
    uint32_t flags = read_u16(r, request, PLI_DEBUG_request_flags);
    bool is_idle = (flags & l->flag_persistent) != 0 && (flags & l->flag_active) == 0;
    if (r->is_bad || (flags & l->flag_send) == 0 || is_idle ||
        read_u16(r, request, PLI_DEBUG_request_is_done) != 0 ||
        read_u64(r, request, PLI_DEBUG_request_comm) != c->address ||
        read_u64(r, at(r, request, PLI_DEBUG_request_item), PLI_DEBUG_match_item_context) !=
            c->context) {
        return;
    }
    struct operation *o = add_operation(r);
    if (o == NULL) {
        return;
    }
    int32_t to = read_i32(r, request, PLI_DEBUG_request_source);
    uint64_t item = at(r, request, PLI_DEBUG_request_item);
    o->it.status = mqs_st_pending;
    o->it.desired_local_rank = o->it.actual_local_rank = to;
    o->it.desired_global_rank = o->it.actual_global_rank = global_rank(r, c->group, to);
    o->it.desired_tag = o->it.actual_tag = read_i32(r, item, PLI_DEBUG_match_item_tag);
    o->it.desired_length = o->it.actual_length =
        (mqs_tword_t)read_u64(r, request, PLI_DEBUG_request_size);
    o->it.buffer = read_u64(r, request, PLI_DEBUG_request_buf);
}

// Requests with handles lie among all objects with handles; those of blocking calls that have
// waited for a while are those of waiters.
static void list_sends(struct reader *r, const struct communicator *c)
{
    const struct pli_debug_layout *l = &r->info->layout;
    uint64_t base = read_number(r, (uintptr_t)l->handle_base, 8);
    uint64_t used = read_number(r, (uintptr_t)l->handle_used, 8);
    for (uint64_t i = 0; i < used && i / l->handle_align < N_MEMBER && !r->is_bad;
         i += l->handle_align) {
        if (read_u16(r, base + i, PLI_DEBUG_obj_kind) == l->kind_request) {
            add_send(r, c, base + i);
        }
    }
    uint64_t w = read_number(r, (uintptr_t)l->waiters, 8);
    for (int i = 0; w != 0 && !r->is_bad && i < N_STEP; i++) {
        uint64_t request = read_u64(r, w, PLI_DEBUG_waiter_request);
        if (request != 0 && (request < base || request >= base + used)) {
            add_send(r, c, request);
        }
        w = read_u64(r, w, PLI_DEBUG_waiter_next_recorded);
    }
}

static void read_communicator(struct reader *r, uint64_t comm, struct communicator *c)
{
    *c = (struct communicator){
        .address = comm,
        .context = read_u64(r, comm, PLI_DEBUG_comm_context),
        .endpoint = read_u64(r, comm, PLI_DEBUG_comm_ep),
        .group = read_u64(r, comm, PLI_DEBUG_comm_remote),
    };
    c->it.unique_id = c->context;
    c->it.local_rank = read_i32(r, comm, PLI_DEBUG_comm_rank);
    c->it.size = read_i32(r, comm, PLI_DEBUG_comm_n_peer);
    r->is_bad |= r->info->calls->mqs_fetch_data_fp(r->process, at(r, comm, PLI_DEBUG_comm_name),
                                                   NAME, c->it.name) != mqs_ok;
    c->it.name[NAME - 1] = '\0';
    if (c->it.name[0] == '\0') {
        snprintf(c->it.name, NAME, "communicator %lx", (unsigned long)c->context);
    }
}

static bool add_communicator(struct reader *r, uint64_t comm)
{
    struct _mqs_process_info *info = r->info;
    void *more = reallocarray(info->comms, info->n_comm + 1, sizeof *info->comms);
    if (more == NULL) {
        return false;
    }
    info->comms = more;
    read_communicator(r, comm, &info->comms[info->n_comm]);
    info->n_comm += !r->is_bad;
    return !r->is_bad;
}

void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks)
{
    debugger = callbacks;
}

char *mqs_version_string(void)
{
    return (char *)"Pliant MPI " PLIANT_VERSION ", message queues";
}

int mqs_version_compatibility(void)
{
    return MQS_INTERFACE_COMPATIBILITY;
}

int mqs_dll_taddr_width(void)
{
    return sizeof(mqs_taddr_t);
}

char *mqs_dll_error_string(int code)
{
    switch (code) {
    case NO_LAYOUT:
        return (char *)"The program has no Pliant MPI library loaded (yet).";
    case BAD_LAYOUT:
        return (char *)"The program's Pliant MPI library is of another version than "
                       "libpliant_dbg.so: take the one that is installed beside it.";
    case CANNOT_READ:
        return (char *)"The memory of the process cannot be read, or makes no sense.";
    case NO_MEMORY:
        return (char *)"There is no memory left in the debugger.";
    default:
        return (char *)"There is no such error.";
    }
}

int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks)
{
    mqs_image_info *info = debugger->mqs_malloc_fp(sizeof *info);
    if (info == NULL) {
        return NO_MEMORY;
    }
    info->calls = callbacks;
    debugger->mqs_put_image_info_fp(image, info);
    return mqs_ok;
}

int mqs_image_has_queues(mqs_image *image, char **message)
{
    mqs_taddr_t address;
    *message = NULL;
    return debugger->mqs_get_image_info_fp(image)->calls->mqs_find_symbol_fp(
               image, (char *)"pli_debug_layout", &address) == mqs_ok
               ? mqs_ok
               : NO_LAYOUT;
}

void mqs_destroy_image_info(mqs_image_info *info)
{
    debugger->mqs_free_fp(info);
}

int mqs_setup_process(mqs_process *process, const mqs_process_callbacks *callbacks)
{
    mqs_process_info *info = debugger->mqs_malloc_fp(sizeof *info);
    if (info == NULL) {
        return NO_MEMORY;
    }
    memset(info, 0, sizeof *info);
    info->calls = callbacks;
    debugger->mqs_put_process_info_fp(process, info);
    return mqs_ok;
}

int mqs_process_has_queues(mqs_process *process, char **message)
{
    struct reader r = reader_of(process);
    struct pli_debug_layout *l = &r.info->layout;
    mqs_image *image = r.info->calls->mqs_get_image_fp(process);
    const mqs_image_callbacks *calls = debugger->mqs_get_image_info_fp(image)->calls;
    mqs_taddr_t address;
    mqs_target_type_sizes sizes;
    *message = NULL;
    r.info->has_layout = false;
    if (calls->mqs_find_symbol_fp(image, (char *)"pli_debug_layout", &address) != mqs_ok) {
        return NO_LAYOUT;
    }
    calls->mqs_get_type_sizes_fp(process, &sizes);
    if (sizes.pointer_size != sizeof(void *)) {
        return BAD_LAYOUT;
    }
    if (r.info->calls->mqs_fetch_data_fp(process, address, sizeof *l, l) != mqs_ok) {
        return CANNOT_READ;
    }
    r.info->has_layout = l->magic == PLI_DEBUG_MAGIC && l->version == PLI_DEBUG_VERSION &&
                         l->n_field == PLI_DEBUG_N_FIELD && l->handle_align > 0;
    return r.info->has_layout ? mqs_ok : BAD_LAYOUT;
}

void mqs_destroy_process_info(mqs_process_info *info)
{
    free(info->comms);
    free(info->operations);
    debugger->mqs_free_fp(info);
}

int mqs_update_communicator_list(mqs_process *process)
{
    struct reader r = reader_of(process);
    const struct pli_debug_layout *l = &r.info->layout;
    char *message;
    r.info->n_comm = r.info->at_comm = r.info->n_operation = r.info->at_operation = 0;
    if (!r.info->has_layout) {
        int code = mqs_process_has_queues(process, &message);
        if (code != mqs_ok) {
            return code;
        }
    }
    uint64_t head = read_number(&r, (uintptr_t)l->comms, 8);
    uint64_t link = read_u64(&r, head, PLI_DEBUG_list_next);
    for (int i = 0; link != head && !r.is_bad && i < N_STEP; i++) {
        uint64_t comm = link - l->fields[PLI_DEBUG_comm_all];
        uint32_t kind = read_u16(&r, comm, PLI_DEBUG_obj_kind);
        // One inside an intercommunicator is no communicator of the program.
        bool is_inner = read_u64(&r, comm, PLI_DEBUG_comm_outer) != 0;
        if (!is_inner && (kind == l->kind_comm || kind == l->kind_barred) &&
            !add_communicator(&r, comm)) {
            return r.is_bad ? CANNOT_READ : NO_MEMORY;
        }
        link = read_u64(&r, link, PLI_DEBUG_list_next);
    }
    return r.is_bad ? CANNOT_READ : mqs_ok;
}

int mqs_setup_communicator_iterator(mqs_process *process)
{
    struct _mqs_process_info *info = debugger->mqs_get_process_info_fp(process);
    info->at_comm = 0;
    info->n_operation = info->at_operation = 0;
    return info->n_comm > 0 ? mqs_ok : mqs_end_of_list;
}

int mqs_next_communicator(mqs_process *process)
{
    struct _mqs_process_info *info = debugger->mqs_get_process_info_fp(process);
    info->at_comm += info->at_comm < info->n_comm;
    info->n_operation = info->at_operation = 0;
    return info->at_comm < info->n_comm ? mqs_ok : mqs_end_of_list;
}

int mqs_get_communicator(mqs_process *process, mqs_communicator *out)
{
    const struct _mqs_process_info *info = debugger->mqs_get_process_info_fp(process);
    if (info->at_comm >= info->n_comm) {
        return mqs_end_of_list;
    }
    *out = info->comms[info->at_comm].it;
    return mqs_ok;
}

int mqs_get_comm_group(mqs_process *process, int *ranks)
{
    struct reader r = reader_of(process);
    if (r.info->at_comm >= r.info->n_comm) {
        return mqs_end_of_list;
    }
    const struct communicator *c = &r.info->comms[r.info->at_comm];
    for (mqs_tword_t i = 0; i < c->it.size && !r.is_bad; i++) {
        ranks[i] = (int)global_rank(&r, c->group, (int32_t)i);
    }
    return r.is_bad ? CANNOT_READ : mqs_ok;
}

int mqs_setup_operation_iterator(mqs_process *process, int what)
{
    struct reader r = reader_of(process);
    r.info->n_operation = r.info->at_operation = 0;
    if (r.info->at_comm >= r.info->n_comm) {
        return mqs_end_of_list;
    }
    const struct communicator *c = &r.info->comms[r.info->at_comm];
    switch (what) {
    case mqs_pending_sends:
        list_sends(&r, c);
        break;
    case mqs_pending_receives:
        list_posted(&r, c);
        break;
    case mqs_unexpected_messages:
        list_unexpected(&r, c);
        break;
    default:
        return mqs_no_information;
    }
    if (r.is_bad) {
        r.info->n_operation = 0;
        return CANNOT_READ;
    }
    return r.info->n_operation > 0 ? mqs_ok : mqs_end_of_list;
}

int mqs_next_operation(mqs_process *process, mqs_pending_operation *out)
{
    struct _mqs_process_info *info = debugger->mqs_get_process_info_fp(process);
    if (info->at_operation >= info->n_operation) {
        return mqs_end_of_list;
    }
    *out = info->operations[info->at_operation++].it;
    return mqs_ok;
}
