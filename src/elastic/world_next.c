// SPDX-License-Identifier: BSD-3-Clause
// Lets the ranks of the world go on to its next version together. In a job that survives failures
// the ranks first agree on who has survived, and do the rest in a communicator of the survivors; if
// one of these fails meanwhile, they begin again.
#include "elastic/world_next.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/agree.h"
#include "comm/comm_make.h"
#include "dynamic/host_hint.h"
#include "dynamic/launcher_call.h"
#include "elastic/elastic_world.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/group_build.h"
#include "obj/group_sets.h"
#include "obj/handle.h"
#include "obj/info.h"
#include "obj/op.h"
#include "session/session_live.h"
#include "session/session_pset.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// What the hints of the call ask for.
struct order {
    bool is_given, is_delta;
    int n;
    struct pli_info *info; // may name hosts
};

// Bits of the flag that the survivors agree on.
enum { ALL_DONE = 1, NO_ERROR = 2 };

static struct {
    bool has_called;         // a process that came later has taken up its first version
    uint32_t taken;          // the version of the last call
    uint32_t before, behind; // the change of the last call; the same: none
} state;

static uint32_t mode(void)
{
    return pli_boot.node.header->mode;
}

// The version after this one, once it is in force; otherwise this one.
static uint32_t next_of(uint32_t version)
{
    return pli_session_live_version() > version ? version + 1 : version;
}

static enum pli_err read_number(struct pli_info *info, const char *key, int least, int *out,
                                bool *is_given)
{
    const char *text = info != NULL ? pli_info_find(info, key) : NULL;
    char *end;
    if (text == NULL) {
        *is_given = false;
        return PLI_OK;
    }
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || n < least || n > INT_MAX) {
        return pli_fail(
            PLI_ERR_INFO_VALUE, "the hint %s is '%s', but must be a number%s", key, text,
            least > 0 ? " of ranks, 1 or more" : " of ranks to add, or below 0 to remove");
    }
    *out = (int)n;
    *is_given = true;
    return PLI_OK;
}

static enum pli_err read_order(struct pli_info *info, struct order *o)
{
    bool has_size = false, has_delta = false;
    int size = 0, delta = 0;
    enum pli_err err = read_number(info, "size", 1, &size, &has_size);
    err = err == PLI_OK ? read_number(info, "delta", -INT_MAX, &delta, &has_delta) : err;
    if (err == PLI_OK && has_size && has_delta) {
        err = pli_fail(PLI_ERR_INFO_VALUE, "the hints size and delta are both given; give one");
    }
    *o = (struct order){ has_size || has_delta, has_delta, has_size ? size : delta, info };
    return err;
}

static enum pli_err request(struct pli_comm *living, const struct order *o,
                            struct pli_answer *answer)
{
    if (o->is_given) {
        int n = o->is_delta ? living->size + o->n : o->n;
        return pli_host_hint_resize(living->ep->lane, n, o->info, answer);
    }
    struct pli_ask_resize ask = { PLI_ASK_DROP, 0 };
    return pli_launcher_call(living->ep->lane, PLI_ASK_RESIZE, &ask, sizeof ask, answer);
}

// The first survivor asks mpiexec for the next version. If mpiexec makes another one meanwhile,
// that one comes first.
static void request_version(struct pli_comm *living, uint32_t version, const struct order *o,
                            struct pli_answer *answer)
{
    enum pli_err err = PLI_OK;
    do {
        *answer = (struct pli_answer){ 0 };
        err = request(living, o, answer);
        if (err == PLI_OK && answer->error == EBUSY) {
            pli_elastic_world_pause(living, "MPIX_World_next");
        }
    } while (err == PLI_OK && answer->error == EBUSY && next_of(version) == version);
    if (err != PLI_OK) {
        answer->error = -1;
        snprintf(answer->text, sizeof answer->text, "%.230s", pli_fail_take(NULL));
    }
    if (next_of(version) > version) {
        answer->error = 0;
    }
    answer->first = next_of(version);
}

// Collective over the survivors. n_dead: members of the version that are not among them.
static enum pli_err choose(struct pli_comm *living, int n_dead, uint32_t version,
                           const struct order *o, uint32_t *next_out)
{
    int mine = (int)next_of(version), newest = mine;
    bool is_replaced = (mode() & PLI_NODE_RESPAWNS) != 0;
    enum pli_err err = pli_coll_allreduce(&mine, &newest, 1, pli_datatype_basic(MPI_INT),
                                          pli_handle_get(MPI_MAX, PLI_KIND_OP), living);
    *next_out = (uint32_t)newest;
    if (err != PLI_OK || (uint32_t)newest > version) {
        return err;
    }
    if (n_dead > 0 && is_replaced) {
        *next_out = version + 1; // mpiexec makes it without being asked
        return PLI_OK;
    }
    if (!o->is_given && n_dead == 0) {
        return PLI_OK;
    }
    struct pli_answer answer = { 0 };
    if (living->rank == 0) {
        request_version(living, version, o, &answer);
    }
    err = pli_coll_bcast(&answer, sizeof answer, pli_comm_make_byte(), 0, living);
    if (err == PLI_OK && answer.error != 0) {
        answer.text[sizeof answer.text - 1] = '\0';
        err = pli_fail(PLI_ERR_SPAWN, "%s", answer.text);
    }
    *next_out = answer.first;
    return err;
}

static bool is_failure(enum pli_err err)
{
    return err == PLI_ERR_PROC_FAILED || err == PLI_ERR_REVOKED;
}

// One attempt in a job that survives failures. *is_done_out: all survivors have the same result.
static enum pli_err try_survivors(struct pli_comm *now, uint32_t version, const struct order *o,
                                  uint32_t *next_out, bool *is_done_out)
{
    struct pli_comm *living = NULL;
    *is_done_out = true;
    enum pli_err err = pli_agree_shrink_in(now, "MPIX_World_next", &living);
    if (err != PLI_OK) {
        return err;
    }
    err = choose(living, now->size - living->size, version, o, next_out);
    int flag = (err == PLI_OK ? ALL_DONE : 0) | (err == PLI_OK || is_failure(err) ? NO_ERROR : 0);
    enum pli_err agreed = pli_agree_agree(living, &flag);
    if (is_failure(agreed) && (flag & NO_ERROR) != 0) {
        *is_done_out = false; // a survivor has failed meanwhile
    } else if (err == PLI_OK && agreed != PLI_OK) {
        err = agreed;
    } else if (err == PLI_OK && (flag & NO_ERROR) == 0) {
        err = pli_fail(PLI_ERR_OTHER, "another rank could not go on to the next version");
    } else if ((flag & ALL_DONE) == 0 && (flag & NO_ERROR) != 0) {
        *is_done_out = false;
    }
    pli_comm_release(living);
    return err;
}

static enum pli_err choose_surviving(struct pli_comm *now, uint32_t version, const struct order *o,
                                     uint32_t *next_out)
{
    pli_failure_look(now->ep->lane);
    bool is_quiet = !o->is_given && next_of(version) == version &&
                    atomic_load_explicit(&now->n_failed, memory_order_relaxed) == 0;
    int flag = is_quiet;
    enum pli_err err = pli_agree_agree(now, &flag);
    if (err == PLI_OK && flag != 0) {
        *next_out = version; // as almost always
        return PLI_OK;
    }
    bool is_done = err != PLI_OK && !is_failure(err);
    while (!is_done) {
        err = try_survivors(now, version, o, next_out, &is_done);
    }
    return err;
}

// This host learns of the version later than that of the first survivor does.
static void await_version(struct pli_comm *c, uint32_t version)
{
    struct pli_waiter w = {
        .lane = c->ep->lane, .comm = c, .call = "MPIX_World_next", .is_restless = true
    };
    while (pli_session_live_version() < version) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
}

// The version that the ranks work in: that of the last call, or what MPI_Fork has made since.
static enum pli_err present(struct pli_comm **out, uint32_t *version_out)
{
    int of_world = 0;
    struct pli_comm *world = pli_comm_any(MPI_COMM_WORLD);
    if (world == NULL) {
        return pli_fail(PLI_ERR_OTHER, "there is no world before MPI_Init and after MPI_Finalize");
    }
    pli_elastic_world_version_of(world, &of_world);
    if ((uint32_t)of_world >= state.taken) {
        *version_out = (uint32_t)of_world;
        *out = world;
        return PLI_OK;
    }
    *version_out = state.taken;
    enum pli_err err = pli_elastic_world_at((int)state.taken, out);
    if (err == PLI_OK && *out == NULL) {
        err = pli_fail(PLI_ERR_OTHER,
                       "this rank has left the world with version %u: it hands over its data, "
                       "calls MPI_Finalize and ends",
                       state.taken);
    }
    return err;
}

enum pli_err pli_world_next(struct pli_comm **out, struct pli_info *info)
{
    struct order order;
    struct pli_comm *now = NULL;
    uint32_t version = 0, next = 0;
    enum pli_err err = read_order(info, &order);
    err = err == PLI_OK ? present(&now, &version) : err;
    if (err != PLI_OK) {
        return err;
    }
    if (now->is_span) {
        return pli_comm_refuse_span(now, "a world of another size");
    }
    if ((mode() & PLI_NODE_TELLS) != 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "with mpiexec --on-resize=error MPI_COMM_WORLD becomes the next version "
                        "when a call returns MPI_WORLD_RESIZED; leave that option out");
    }
    bool is_new = pli_boot.version > 0 && !state.has_called;
    state.has_called = true;
    if (is_new) { // the old ranks are in the call that returns this version
        state.taken = state.behind = version;
        state.before = version - 1;
        *out = now;
        return PLI_OK;
    }
    err = (mode() & PLI_NODE_SURVIVES) != 0 ? choose_surviving(now, version, &order, &next)
                                            : choose(now, 0, version, &order, &next);
    if (err == PLI_OK) {
        await_version(now, next);
        err = pli_elastic_world_at((int)next, out);
    }
    if (err == PLI_OK) {
        state.before = version;
        state.taken = state.behind = next;
        pli_process_recount();
    }
    return err;
}

void pli_world_next_clone(void)
{
    state.has_called = true;
    state.taken = state.before = state.behind = 0;
}

enum pli_err pli_world_next_members(uint32_t version, struct pli_group **out)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    pli_session_pset_world(version, name);
    return pli_session_pset_group(NULL, name, out);
}

// A resize adds ranks or removes some, never both. Where some were added, those that are missing
// have failed.
static enum pli_err sort_missing(struct pli_group *from, struct pli_group *to, bool are_failed,
                                 struct pli_group **out)
{
    struct pli_group *added = NULL;
    struct pli_group_build b;
    enum pli_err err = pli_group_sets_difference(to, from, &added);
    if (err != PLI_OK) {
        return err;
    }
    pli_group_build_init(&b);
    for (int i = 0; i < from->size; i++) {
        struct pli_id id = pli_group_at(from, i);
        bool is_failed = added->size > 0 || pli_failure_failed_at(id.proc) != 0;
        if (pli_group_rank_of(to, id) < 0 && is_failed == are_failed) {
            pli_group_build_add_id(&b, id);
        }
    }
    pli_group_release(added);
    return pli_group_build_finish(&b, NULL, (struct pli_id){ pli_proc.id, 0 }, out);
}

enum pli_err pli_world_next_lost(struct pli_group *from, struct pli_group *to,
                                 struct pli_group **out)
{
    return sort_missing(from, to, true, out);
}

enum what { ADDED, LEAVING, FAILED };

static enum pli_err get_changed(enum what what, struct pli_group **out)
{
    struct pli_group *from = NULL, *to = NULL;
    if (pli_comm_any(MPI_COMM_WORLD) == NULL) {
        return pli_fail(PLI_ERR_OTHER, "there is no world before MPI_Init and after MPI_Finalize");
    }
    enum pli_err err = pli_world_next_members(state.before, &from);
    err = err == PLI_OK ? pli_world_next_members(state.behind, &to) : err;
    if (err == PLI_OK) {
        err = what == ADDED ? pli_group_sets_difference(to, from, out)
                            : sort_missing(from, to, what == FAILED, out);
    }
    pli_group_release(from);
    pli_group_release(to);
    return err;
}

enum pli_err pli_world_next_added(struct pli_group **out)
{
    return get_changed(ADDED, out);
}

enum pli_err pli_world_next_leaving(struct pli_group **out)
{
    return get_changed(LEAVING, out);
}

enum pli_err pli_world_next_failed(struct pli_group **out)
{
    return get_changed(FAILED, out);
}
