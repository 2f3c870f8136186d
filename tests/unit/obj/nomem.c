// SPDX-License-Identifier: BSD-3-Clause
// Out of memory at every allocation in turn: each operation fails with a reason and leaks nothing,
// or succeeds without that memory.
#include "obj/attr.h"
#include "obj/attr_comm.h"
#include "obj/comm.h"
#include "obj/errcode.h"
#include "obj/group_pick.h"
#include "obj/group_sets.h"
#include "obj/info.h"
#include "t.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int main(void)
{
    fprintf(stderr, "skipped: the sanitizer has its own malloc\n");
    return 77;
}
#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static int left = -1; // allocations until one fails; negative: none fails
static long n_live;

static int may_fail(void)
{
    if (left < 0) {
        return 0;
    }
    return left-- == 0;
}

void *malloc(size_t size)
{
    void *p = may_fail() ? NULL : __libc_malloc(size);
    n_live += p != NULL;
    return p;
}

void *calloc(size_t n, size_t size)
{
    void *p = may_fail() ? NULL : __libc_calloc(n, size);
    n_live += p != NULL;
    return p;
}

void *realloc(void *p, size_t size)
{
    void *q = may_fail() ? NULL : __libc_realloc(p, size);
    n_live += q != NULL && p == NULL;
    return q;
}

void free(void *p)
{
    n_live -= p != NULL;
    __libc_free(p);
}

static struct pli_group *many, *other;
static struct pli_info *info;
static struct pli_comm *comm, *copy;
static int keys[9];

static enum pli_err try_union(void)
{
    struct pli_group *r = NULL;
    enum pli_err err = pli_group_sets_union(many, other, &r);
    pli_group_release(r);
    return err;
}

static enum pli_err try_pick(void)
{
    struct pli_group *r = NULL;
    enum pli_err err = pli_group_pick_excl(many, 3, (int[]){ 1, 5, 9 }, &r);
    pli_group_release(r);
    return err;
}

static enum pli_err try_find(void) // looks up without an index when there is no memory for one
{
    struct pli_group *r = NULL;
    enum pli_err err = pli_group_pick_range_incl(many, 1, (int[][3]){ { 30, 2, -3 } }, &r);
    if (err == PLI_OK) {
        T_EQ(pli_group_rank_of(r, pli_group_at(many, 27)), 1);
        T_EQ(pli_group_rank_of(r, pli_group_at(many, 28)), -1);
    }
    pli_group_release(r);
    return err;
}

static enum pli_err try_info(void)
{
    struct pli_info *dup = NULL;
    enum pli_err err = pli_info_dup(info, &dup);
    if (err == PLI_OK) {
        err = pli_info_set(dup, "another", "value");
    }
    pli_info_release(dup);
    return err;
}

static enum pli_err try_attr(void)
{
    enum pli_err err = pli_attr_copy_all(&comm->obj, &copy->obj);
    int key;
    if (err == PLI_OK) {
        err = pli_attr_comm_create_key(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    }
    if (err == PLI_OK) {
        err = pli_attr_comm_set(copy, key, NULL);
        T_EQ(pli_attr_comm_free_key(&key), PLI_OK);
    }
    T_EQ(pli_attr_delete_all(&copy->obj), PLI_OK);
    return err;
}

static enum pli_err try_code(void)
{
    int class;
    enum pli_err err = pli_errcode_add_class(&class);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_errcode_add_string(class, "text");
    if (err == PLI_OK) {
        T_EQ(pli_errcode_remove_string(class), PLI_OK);
    }
    T_EQ(pli_errcode_remove_class(class), PLI_OK);
    return err;
}

// Fail the first allocation, then the second, until none is left to fail.
static void rehearse(const char *name, enum pli_err (*try)(void))
{
    T_EQ(try(), PLI_OK); // tables that only grow are there now
    long before = n_live;
    size_t groups = pli_handle_live(PLI_KIND_GROUP), infos = pli_handle_live(PLI_KIND_INFO);
    int n = 0, n_failed = 0;
    for (bool is_over = false; !is_over && n < 1000; n++) {
        left = n;
        enum pli_err err = try();
        is_over = left >= 0; // it ended before the one that should fail
        left = -1;
        if (err != PLI_OK) {
            T_EQ(err, PLI_ERR_NOMEM);
            T_HAS(pli_fail_take(NULL), "memory");
            n_failed++;
        }
        if (n_live != before) {
            fprintf(stderr, "%s: round %d leaves %ld pieces\n", name, n, n_live - before);
            t_failed++;
            before = n_live;
        }
    }
    T_OK(n < 1000 && n_failed > 0);
    T_EQ(pli_handle_live(PLI_KIND_GROUP), groups);
    T_EQ(pli_handle_live(PLI_KIND_INFO), infos);
}

int main(void)
{
    struct pli_id ids[60];
    pli_comm_init();
    for (int i = 0; i < 60; i++) {
        ids[i] = (struct pli_id){ (uint64_t)(i * 37 % 61), (uint32_t)(i % 3) };
    }
    T_MUST(pli_group_create(ids, 40, NULL, &many) == PLI_OK);
    T_MUST(pli_group_create(ids + 20, 40, NULL, &other) == PLI_OK);
    T_MUST(pli_info_create(&info) == PLI_OK);
    for (int i = 0; i < 9; i++) {
        char key[8];
        snprintf(key, sizeof key, "key%d", i);
        T_MUST(pli_info_set(info, key, "value") == PLI_OK);
    }
    T_MUST(pli_comm_create(NULL, ids[0], many, NULL, 4, &comm) == PLI_OK);
    T_MUST(pli_comm_create(NULL, ids[0], many, NULL, 8, &copy) == PLI_OK);
    for (int i = 0; i < 9; i++) {
        T_MUST(pli_attr_comm_create_key(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL) ==
               PLI_OK);
        T_MUST(pli_attr_comm_set(comm, keys[i], &keys[i]) == PLI_OK);
    }
    rehearse("union", try_union);
    rehearse("pick", try_pick);
    rehearse("find", try_find);
    rehearse("info", try_info);
    rehearse("attr", try_attr);
    rehearse("code", try_code);
    return t_status();
}
#endif
