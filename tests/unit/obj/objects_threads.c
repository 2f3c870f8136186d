// SPDX-License-Identifier: BSD-3-Clause
// Many threads at once on the same objects: nothing is lost, torn or freed under another's feet.
#include "base/lock.h"
#include "obj/attr.h"
#include "obj/attr_comm.h"
#include "obj/comm.h"
#include "obj/errcode.h"
#include "obj/errhandler.h"
#include "obj/group_sets.h"
#include "obj/info.h"
#include "t.h"

#include <pthread.h>
#include <stdatomic.h>

enum { N_THREAD = 4, N_ROUND = 2000 };

static struct pli_comm *comm;
static struct pli_info *info;
static struct pli_group *mixed;
static _Atomic int n_bad, n_drop, n_set;

static void must(bool ok)
{
    atomic_fetch_add(&n_bad, !ok);
}

static int count_drop(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c;
    (void)key;
    (void)extra;
    must(value != NULL);
    atomic_fetch_add(&n_drop, 1);
    return 0;
}

static void on_error(MPI_Comm *c, int *code, ...)
{
    (void)c;
    (void)code;
}

static int shared_key;

static void attributes(intptr_t me)
{
    int key, flag;
    void *value = NULL;
    must(pli_attr_comm_create_key(MPI_COMM_NULL_COPY_FN, count_drop, &key, NULL) == PLI_OK);
    must(pli_attr_comm_set(comm, key, (void *)(me + 1)) == PLI_OK);
    must(pli_attr_comm_get(comm, key, &value, &flag) == PLI_OK && flag &&
         value == (void *)(me + 1));
    must(pli_attr_comm_delete(comm, key) == PLI_OK);
    must(pli_attr_comm_free_key(&key) == PLI_OK);
    atomic_fetch_add(&n_set, 1);
    // All on one key: a set may meet another's delete callback, and is told so.
    if (pli_attr_comm_set(comm, shared_key, (void *)(me + 1)) == PLI_OK) {
        atomic_fetch_add(&n_set, 1);
    }
    must(pli_attr_comm_get(comm, shared_key, &value, &flag) == PLI_OK);
}

static void infos(intptr_t me, int round)
{
    char key[16], value[16];
    int flag;
    snprintf(key, sizeof key, "k%d", (int)me);
    snprintf(value, sizeof value, "%d", round);
    must(pli_info_set(info, key, value) == PLI_OK);
    value[0] = '\0';
    must(pli_info_get(info, key, 15, value, &flag) == PLI_OK && flag && atoi(value) == round);
    must(pli_info_get(info, "shared", 15, value, &flag) == PLI_OK);
    must(pli_info_set(info, "shared", key) == PLI_OK);
}

static void others(int round)
{
    struct pli_errhandler *mine, *got;
    int class, relation;
    must(pli_errhandler_create_comm(on_error, &mine) == PLI_OK);
    must(pli_comm_set_errhandler(comm, mine) == PLI_OK);
    must(pli_errhandler_free(mine) == PLI_OK);
    must(pli_comm_get_errhandler(comm, &got) == PLI_OK);
    must(got->obj.kind == PLI_KIND_ERRHANDLER && got->fn.comm == on_error);
    must(pli_errhandler_free(got) == PLI_OK);
    must(pli_errcode_add_class(&class) == PLI_OK);
    must(pli_errcode_remove_class(class) == PLI_OK);
    must(pli_group_rank_of(mixed, pli_group_at(mixed, round % mixed->size)) == round % mixed->size);
    must(pli_group_sets_relation(comm->group, mixed, &relation) == PLI_OK &&
         relation == MPI_UNEQUAL);
}

static void *work(void *arg)
{
    for (int round = 0; round < N_ROUND; round++) {
        attributes((intptr_t)arg);
        infos((intptr_t)arg, round);
        others(round);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[N_THREAD];
    struct pli_id ids[500];
    pli_lock_threads = true;
    pli_comm_init();
    for (int i = 0; i < 500; i++) {
        ids[i] = (struct pli_id){ (uint64_t)(i * 211 % 503), (uint32_t)(i % 2) };
    }
    T_MUST(pli_group_create(ids, 500, NULL, &mixed) == PLI_OK);
    T_MUST(pli_comm_create(NULL, ids[0], mixed, NULL, 4, &comm) == PLI_OK);
    pli_group_release(mixed);
    T_MUST(pli_group_create(ids, 499, NULL, &mixed) == PLI_OK);
    T_MUST(pli_info_create(&info) == PLI_OK);
    T_MUST(pli_attr_comm_create_key(MPI_COMM_NULL_COPY_FN, count_drop, &shared_key, NULL) ==
           PLI_OK);
    for (intptr_t i = 0; i < N_THREAD; i++) {
        T_MUST(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    }
    for (int i = 0; i < N_THREAD; i++) {
        pthread_join(threads[i], NULL);
    }
    T_EQ(pli_attr_delete_all(&comm->obj), PLI_OK);
    T_EQ(n_bad, 0);
    T_EQ(n_drop, n_set); // every value that was set was deleted once
    pli_comm_release(comm);
    pli_group_release(mixed);
    pli_info_release(info);
    T_EQ(pli_handle_live(PLI_KIND_ERRHANDLER), 0);
    T_EQ(pli_handle_live(PLI_KIND_GROUP), 0);
    return t_status();
}
