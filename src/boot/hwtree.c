// SPDX-License-Identifier: BSD-3-Clause
// Loads hwloc and finds sets of processors in its tree.
#include "boot/hwtree.h"

#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "libhwloc.so.15"

// The functions we use. hwloc's inline helpers would bind to the library at link time.
static struct {
    __typeof__(hwloc_topology_init) *init;
    __typeof__(hwloc_topology_set_flags) *set_flags;
    __typeof__(hwloc_topology_load) *load;
    __typeof__(hwloc_topology_destroy) *destroy;
    __typeof__(hwloc_get_type_depth) *type_depth;
    __typeof__(hwloc_get_obj_by_depth) *obj_by_depth;
    __typeof__(hwloc_bitmap_alloc) *alloc;
    __typeof__(hwloc_bitmap_free) *free;
    __typeof__(hwloc_bitmap_set_ith_ulong) *set_word;
    __typeof__(hwloc_bitmap_iszero) *is_zero;
    __typeof__(hwloc_bitmap_isincluded) *is_inside;
    __typeof__(hwloc_bitmap_intersects) *touches;
    __typeof__(hwloc_bitmap_weight) *weight;
} hw;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hwloc_topology_t tree; // written under the lock, read by threads that saw it loaded

static const hwloc_obj_type_t types[PLI_N_HWTREE] = {
    [PLI_HWTREE_MACHINE] = HWLOC_OBJ_MACHINE, [PLI_HWTREE_PACKAGE] = HWLOC_OBJ_PACKAGE,
    [PLI_HWTREE_DIE] = HWLOC_OBJ_DIE,         [PLI_HWTREE_NUMA] = HWLOC_OBJ_NUMANODE,
    [PLI_HWTREE_L4] = HWLOC_OBJ_L4CACHE,      [PLI_HWTREE_L3] = HWLOC_OBJ_L3CACHE,
    [PLI_HWTREE_L2] = HWLOC_OBJ_L2CACHE,      [PLI_HWTREE_L1] = HWLOC_OBJ_L1CACHE,
    [PLI_HWTREE_CORE] = HWLOC_OBJ_CORE,       [PLI_HWTREE_PU] = HWLOC_OBJ_PU,
};

static enum pli_err bind_calls(void *lib)
{
    const struct {
        const char *name;
        void *at;
    } calls[] = {
        { "hwloc_topology_init", &hw.init },
        { "hwloc_topology_set_flags", &hw.set_flags },
        { "hwloc_topology_load", &hw.load },
        { "hwloc_topology_destroy", &hw.destroy },
        { "hwloc_get_type_depth", &hw.type_depth },
        { "hwloc_get_obj_by_depth", &hw.obj_by_depth },
        { "hwloc_bitmap_alloc", &hw.alloc },
        { "hwloc_bitmap_free", &hw.free },
        { "hwloc_bitmap_set_ith_ulong", &hw.set_word },
        { "hwloc_bitmap_iszero", &hw.is_zero },
        { "hwloc_bitmap_isincluded", &hw.is_inside },
        { "hwloc_bitmap_intersects", &hw.touches },
        { "hwloc_bitmap_weight", &hw.weight },
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *f = dlsym(lib, calls[i].name);
        if (f == NULL) {
            return pli_fail(PLI_ERR_OTHER, LIBRARY " has no function %s", calls[i].name);
        }
        memcpy(calls[i].at, &f, sizeof f);
    }
    return PLI_OK;
}

// The library stays loaded: it is small, and the program may use it too.
static enum pli_err open_library(void)
{
    static void *lib;
    if (lib != NULL) {
        return PLI_OK;
    }
    void *l = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (l == NULL) {
        return pli_fail(PLI_ERR_OTHER,
                        "hwloc, which knows the hardware, cannot be loaded (%s); install it "
                        "(Debian: libhwloc15)",
                        dlerror());
    }
    enum pli_err err = bind_calls(l);
    if (err != PLI_OK) {
        dlclose(l);
        return err;
    }
    lib = l;
    return PLI_OK;
}

// Processors that a cgroup forbids to this process may be another rank's, so all are kept. Devices
// are not looked for: hwloc leaves them out unless asked.
static enum pli_err read_tree(void)
{
    hwloc_topology_t t;
    if (hw.init(&t) != 0) {
        return pli_fail(PLI_ERR_NOMEM, "hwloc cannot begin: %s", strerror(errno));
    }
    if (hw.set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 || hw.load(t) != 0) {
        int why = errno;
        hw.destroy(t);
        return pli_fail(PLI_ERR_OTHER,
                        "hwloc cannot read the hardware of this machine (%s); is one of "
                        "HWLOC_SYNTHETIC, HWLOC_XMLFILE, HWLOC_FSROOT set wrongly?",
                        strerror(why));
    }
    tree = t;
    return PLI_OK;
}

enum pli_err pli_hwtree_load(void)
{
    pthread_mutex_lock(&lock);
    enum pli_err err = tree != NULL ? PLI_OK : open_library();
    if (err == PLI_OK && tree == NULL) {
        err = read_tree();
    }
    pthread_mutex_unlock(&lock);
    return err;
}

void pli_hwtree_unload(void)
{
    pthread_mutex_lock(&lock);
    if (tree != NULL) {
        hw.destroy(tree);
        tree = NULL;
    }
    pthread_mutex_unlock(&lock);
}

bool pli_hwtree_has(enum pli_hwtree_level level)
{
    return hw.type_depth(tree, types[level]) != HWLOC_TYPE_DEPTH_UNKNOWN;
}

static void note(hwloc_obj_t o, uint32_t at[])
{
    for (int i = 0; i < PLI_N_HWTREE; i++) {
        if (types[i] == o->type) {
            at[i] = o->logical_index;
        }
    }
}

static hwloc_obj_t child_around(hwloc_obj_t o, hwloc_bitmap_t set)
{
    for (unsigned i = 0; i < o->arity; i++) {
        if (hw.is_inside(set, o->children[i]->cpuset)) {
            return o->children[i];
        }
    }
    return NULL;
}

// Memory is beside the tree, and processors may have several kinds: the nearest one counts, and
// the first of equals, which is the ordinary memory. A set that the nearest does not hold lies in
// none, even where memory far away serves the whole machine.
static hwloc_obj_t memory_around(hwloc_bitmap_t set)
{
    hwloc_obj_t best = NULL, o;
    int best_weight = 0;
    for (unsigned i = 0; (o = hw.obj_by_depth(tree, HWLOC_TYPE_DEPTH_NUMANODE, i)) != NULL; i++) {
        int weight = hw.weight(o->cpuset);
        if (hw.touches(set, o->cpuset) && (best == NULL || weight < best_weight)) {
            best = o;
            best_weight = weight;
        }
    }
    return best != NULL && hw.is_inside(set, best->cpuset) ? best : NULL;
}

enum pli_err pli_hwtree_find(const uint64_t mask[], uint32_t n_word, uint32_t at_out[PLI_N_HWTREE])
{
    _Static_assert(sizeof(unsigned long) == sizeof mask[0], "hwloc's words are ours");
    for (int i = 0; i < PLI_N_HWTREE; i++) {
        at_out[i] = PLI_HWTREE_ANY;
    }
    at_out[PLI_HWTREE_MACHINE] = 0;
    hwloc_bitmap_t set = hw.alloc();
    bool is_made = set != NULL;
    for (uint32_t i = 0; is_made && i < n_word; i++) {
        is_made = hw.set_word(set, i, mask[i]) == 0;
    }
    if (!is_made) {
        hw.free(set);
        return pli_fail(PLI_ERR_NOMEM, "no memory for a set of processors");
    }
    hwloc_obj_t o = hw.obj_by_depth(tree, 0, 0);
    if (!hw.is_zero(set) && hw.is_inside(set, o->cpuset)) {
        for (; o != NULL; o = child_around(o, set)) {
            note(o, at_out);
        }
        o = memory_around(set);
        if (o != NULL) {
            note(o, at_out);
        }
    }
    hw.free(set);
    return PLI_OK;
}
