// SPDX-License-Identifier: BSD-3-Clause
// Checks what the user wants to see of a file, and makes it the view.
#include "io/file_view_set.h"

#include "io/file.h"
#include "io/file_async.h"
#include "io/file_coll.h"
#include "io/file_datarep.h"
#include "io/file_hints.h"
#include "io/file_shared.h"
#include "obj/datatype.h"
#include "obj/info.h"
#include "obj/type_plan.h"

#include <stdio.h>
#include <string.h>

// How the blocks of a filetype follow each other.
struct order {
    MPI_Count begin, end; // of the block before
    bool falls;           // one begins before the one in front of it
    bool overlaps;        // one begins before the end of it
};

static void follow(struct order *o, MPI_Count begin, MPI_Count len)
{
    o->falls = o->falls || begin < o->begin;
    o->overlaps = o->overlaps || begin < o->end;
    o->begin = begin;
    o->end = begin + len;
}

// Rounds of a loop are alike: two tell of all.
static void look(struct order *o, const struct pli_type_node *p, MPI_Count base)
{
    base += p->disp;
    bool is_loop = p->kind == PLI_NODE_LOOP || p->kind == PLI_NODE_STRIDED;
    MPI_Count n = p->kind == PLI_NODE_RUN ? 1 : is_loop && p->n > 2 ? 2 : p->n;
    for (MPI_Count i = 0; i < n && !o->falls; i++) {
        if (p->kind == PLI_NODE_LOOP) {
            look(o, p->child, base + i * p->stride);
        } else if (p->kind == PLI_NODE_LIST) {
            look(o, p->kids[i], base + p->disps[i]);
        } else if (p->kind == PLI_NODE_BLOCKS) {
            follow(o, base + p->disps[i], pli_type_plan_block(p, i));
        } else {
            follow(o, base + (p->kind == PLI_NODE_STRIDED ? i * p->stride : 0), p->len);
        }
    }
    if (is_loop && p->n > n) {
        o->begin += (p->n - n) * p->stride;
        o->end += (p->n - n) * p->stride;
    }
}

// Whether displacements rise, and what follows for the view.
static enum pli_err check_order(const struct pli_datatype *layout, bool is_written,
                                struct pli_file_view *v)
{
    struct order o = { .begin = 0 };
    if (layout->plan != NULL) {
        look(&o, layout->plan, 0);
    }
    if (o.falls || layout->true_lb < 0) {
        return pli_fail(PLI_ERR_IO, "argument filetype has a displacement that is negative or "
                                    "lower than the one before it; in a view they must rise");
    }
    v->has_overlap = o.overlaps;
    if (layout->plan != NULL && !o.overlaps) {
        look(&o, layout->plan, layout->extent); // the next repetition, which many never access
        v->is_once = o.falls || o.overlaps;
    }
    return !v->has_overlap || !is_written
               ? PLI_OK
               : pli_fail(PLI_ERR_IO, "argument filetype has the same bytes of the file twice, "
                                      "which a file that was opened for writing does not allow");
}

static enum pli_err check(MPI_Offset disp, const struct pli_datatype *etype,
                          const struct pli_datatype *filetype)
{
    if (disp < 0) {
        return pli_fail(PLI_ERR_ARG, "argument disp is %lld, but must not be negative",
                        (long long)disp);
    }
    if (etype->size == 0) {
        return pli_fail(PLI_ERR_TYPE, "argument etype is %s, which has no data",
                        pli_datatype_label(etype));
    }
    return filetype->size % etype->size == 0
               ? PLI_OK
               : pli_fail(PLI_ERR_TYPE,
                          "argument filetype has %lld bytes of data, which is no multiple of the "
                          "%lld bytes of the etype",
                          (long long)filetype->size, (long long)etype->size);
}

// The new view, local; released by the caller.
static enum pli_err build(MPI_Offset disp, struct pli_datatype *etype,
                          struct pli_datatype *filetype, const char *datarep, bool is_written,
                          struct pli_file_view *out)
{
    struct pli_datatype *unit = NULL;
    *out = (struct pli_file_view){ .disp = disp };
    enum pli_err err = check(disp, etype, filetype);
    if (err == PLI_OK) {
        err = datarep != NULL ? pli_file_datarep_find(datarep, &out->rep)
                              : pli_fail(PLI_ERR_ARG, "argument datarep is NULL");
        out->is_internal = err == PLI_OK && strcmp(datarep, "internal") == 0;
    }
    err = err == PLI_OK ? pli_file_datarep_layout(out->rep, filetype, &out->layout) : err;
    if (err == PLI_OK) {
        err = pli_file_datarep_layout(out->rep, etype, &unit);
        out->unit = err == PLI_OK ? unit->size : 0;
        out->is_bytes = out->unit == 1;
    }
    err = err == PLI_OK ? check_order(out->layout, is_written, out) : err;
    if (unit != NULL) {
        pli_datatype_release(unit);
    }
    if (err != PLI_OK) {
        if (out->layout != NULL) {
            pli_datatype_release(out->layout);
        }
        *out = (struct pli_file_view){ .disp = 0 };
        return err;
    }
    out->etype = pli_datatype_retain(etype);
    out->filetype = pli_datatype_retain(filetype);
    out->is_dense = out->layout->is_dense;
    return PLI_OK;
}

// Where the view begins; the others count on this member, whatever is wrong here.
static enum pli_err find_disp(struct pli_file *f, enum pli_err err, MPI_Offset *disp)
{
    bool is_sequential = (f->amode & MPI_MODE_SEQUENTIAL) != 0;
    if (is_sequential && *disp == MPI_DISPLACEMENT_CURRENT) {
        struct pli_fail_saved why;
        pli_fail_save(&why, err);
        enum pli_err found = pli_file_shared_offset(f, disp);
        return err != PLI_OK ? pli_fail_repeat(&why) : found;
    }
    if (err == PLI_OK && *disp == MPI_DISPLACEMENT_CURRENT) {
        return pli_fail(PLI_ERR_ARG, "argument disp is MPI_DISPLACEMENT_CURRENT, but the file was "
                                     "not opened with MPI_MODE_SEQUENTIAL");
    }
    return err != PLI_OK || !is_sequential
               ? err
               : pli_fail(PLI_ERR_UNSUPPORTED,
                          "the file was opened with MPI_MODE_SEQUENTIAL, so argument disp must be "
                          "MPI_DISPLACEMENT_CURRENT");
}

enum pli_err pli_file_view_set(struct pli_file *f, MPI_Offset disp, struct pli_datatype *etype,
                               struct pli_datatype *filetype, const char *datarep,
                               struct pli_info *info)
{
    struct pli_file_view v = { .disp = 0 };
    struct pli_file_hints hints = { .info = NULL };
    MPI_Offset at = disp;
    enum pli_err err = find_disp(f, pli_file_async_settle(f, "MPI_File_set_view"), &at);
    err = err == PLI_OK ? build(at, etype, filetype, datarep, (f->amode & MPI_MODE_RDONLY) == 0, &v)
                        : err;
    err = err == PLI_OK ? pli_file_hints_merge(f, info, &hints) : err;
    err = pli_file_agree(f, err);
    err = err == PLI_OK ? pli_file_coll_share_view(f, &v) : err;
    if (err != PLI_OK) {
        pli_file_view_release(&v);
        pli_info_release(hints.info);
        return err;
    }
    pthread_mutex_lock(&f->lock);
    struct pli_file_view old = f->view;
    f->view = v;
    f->pos = 0;
    pthread_mutex_unlock(&f->lock);
    pli_file_view_release(&old);
    pli_file_hints_replace(f, &hints);
    return pli_file_shared_reset(f);
}

// A handle of a type of the view that the user may free: predefined ones as they are, others as
// copies.
enum pli_err pli_file_view_get(struct pli_file *f, MPI_Offset *disp, struct pli_datatype **etype,
                               struct pli_datatype **filetype, char *datarep)
{
    *disp = f->view.disp;
    enum pli_err err = pli_file_datarep_copy(f->view.etype, etype);
    err = err == PLI_OK ? pli_file_datarep_copy(f->view.filetype, filetype) : err;
    if (datarep == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument datarep is NULL");
    }
    snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s",
             f->view.is_internal ? "internal" : pli_file_datarep_name(f->view.rep));
    return err;
}
