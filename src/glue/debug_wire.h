// SPDX-License-Identifier: BSD-3-Clause
// What a debugger's library (trace/message_queues.c) must know of the process that it looks at:
// where the lists are and how objects are laid out. It reads this out of the process, so that it
// need not be of the same build, and the process need not have debugging information.
#ifndef PLI_GLUE_DEBUG_WIRE_H
#define PLI_GLUE_DEBUG_WIRE_H

#include <stdint.h>

#define PLI_DEBUG_MAGIC 0x67756265642d6c70u

enum { PLI_DEBUG_VERSION = 1 };

// Members of struct pli_X by their offsets. New ones come at the end.
#define PLI_DEBUG_FIELDS(FIELD)                                                                    \
    FIELD(list, next)                                                                              \
    FIELD(obj, kind)                                                                               \
    FIELD(comm, all)                                                                               \
    FIELD(comm, rank)                                                                              \
    FIELD(comm, n_peer)                                                                            \
    FIELD(comm, context)                                                                           \
    FIELD(comm, ep)                                                                                \
    FIELD(comm, remote)                                                                            \
    FIELD(comm, outer)                                                                             \
    FIELD(comm, name)                                                                              \
    FIELD(group, n_run)                                                                            \
    FIELD(group, runs)                                                                             \
    FIELD(group_run, first)                                                                        \
    FIELD(group_run, proc_step)                                                                    \
    FIELD(group_run, base)                                                                         \
    FIELD(group_run, n)                                                                            \
    FIELD(endpoint, match)                                                                         \
    FIELD(match, posted)                                                                           \
    FIELD(match, arrival)                                                                          \
    FIELD(match_table, bucket)                                                                     \
    FIELD(match_table, n_bucket)                                                                   \
    FIELD(match_bucket, first)                                                                     \
    FIELD(match_item, next)                                                                        \
    FIELD(match_item, later)                                                                       \
    FIELD(match_item, context)                                                                     \
    FIELD(match_item, seq)                                                                         \
    FIELD(match_item, source)                                                                      \
    FIELD(match_item, tag)                                                                         \
    FIELD(request, item)                                                                           \
    FIELD(request, is_done)                                                                        \
    FIELD(request, flags)                                                                          \
    FIELD(request, comm)                                                                           \
    FIELD(request, buf)                                                                            \
    FIELD(request, size)                                                                           \
    FIELD(request, source)                                                                         \
    FIELD(request, tag)                                                                            \
    FIELD(unexpected, item)                                                                        \
    FIELD(unexpected, size)                                                                        \
    FIELD(unexpected, data)                                                                        \
    FIELD(unexpected, kind)                                                                        \
    FIELD(waiter, request)                                                                         \
    FIELD(waiter, next_recorded)

#define PLI_DEBUG_NUMBER(type, field) PLI_DEBUG_##type##_##field,
enum { PLI_DEBUG_FIELDS(PLI_DEBUG_NUMBER) PLI_DEBUG_N_FIELD };
#undef PLI_DEBUG_NUMBER

struct pli_debug_layout {
    uint64_t magic;
    uint32_t version, n_field;
    // Addresses in the process: of the list of communicators, of the pointer to the first waiter,
    // and of the variables that say where objects with handles are.
    const void *comms, *waiters, *handle_base, *handle_used;
    uint32_t handle_align;
    // Values of the library's own enumerations.
    uint32_t kind_comm, kind_barred, kind_request;
    uint32_t flag_send, flag_persistent, flag_active;
    uint32_t kind_eager;
    uint32_t size_run, size_bucket;
    uint32_t fields[PLI_DEBUG_N_FIELD];
};

#endif
