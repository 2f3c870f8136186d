// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations: which exist, what they are defined on, and applying them.
#include "obj/op.h"
#include "base/cpu.h"
#include "obj/cursor.h"

#include "obj/datatype.h"
#include "obj/handle_predefined.h"
#include "obj/op_kernel.h"
#include "obj/user_calls.h"

#include <limits.h>
#include <string.h>

#define BIT(family) (1u << PLI_FAMILY_##family)
enum {
    INTEGERS = BIT(C_INTEGER) | BIT(F_INTEGER) | BIT(MULTI),
    ORDERED = INTEGERS | BIT(FLOAT),
    FIELDS = ORDERED | BIT(COMPLEX),
    TRUTHS = BIT(C_INTEGER) | BIT(MULTI) | BIT(LOGICAL),
    BITS = INTEGERS | BIT(BYTE),
};

// Families of types each operation takes. [MPI-5.0 6.9.2]
static const struct op_row {
    MPI_Op handle;
    const char *name;
    unsigned families;
} rows[PLI_N_OP] = {
    [PLI_OP_USER] = { MPI_OP_NULL, "a user's operation", 0 },
    [PLI_OP_SUM] = { MPI_SUM, "MPI_SUM", FIELDS },
    [PLI_OP_PROD] = { MPI_PROD, "MPI_PROD", FIELDS },
    [PLI_OP_MIN] = { MPI_MIN, "MPI_MIN", ORDERED },
    [PLI_OP_MAX] = { MPI_MAX, "MPI_MAX", ORDERED },
    [PLI_OP_BAND] = { MPI_BAND, "MPI_BAND", BITS },
    [PLI_OP_BOR] = { MPI_BOR, "MPI_BOR", BITS },
    [PLI_OP_BXOR] = { MPI_BXOR, "MPI_BXOR", BITS },
    [PLI_OP_LAND] = { MPI_LAND, "MPI_LAND", TRUTHS },
    [PLI_OP_LOR] = { MPI_LOR, "MPI_LOR", TRUTHS },
    [PLI_OP_LXOR] = { MPI_LXOR, "MPI_LXOR", TRUTHS },
    [PLI_OP_MINLOC] = { MPI_MINLOC, "MPI_MINLOC", BIT(PAIR) },
    [PLI_OP_MAXLOC] = { MPI_MAXLOC, "MPI_MAXLOC", BIT(PAIR) },
    [PLI_OP_REPLACE] = { MPI_REPLACE, "MPI_REPLACE", ~0u },
    [PLI_OP_NO_OP] = { MPI_NO_OP, "MPI_NO_OP", ~0u },
};

static struct pli_op predefined[PLI_N_OP];

PLI_START void pli_op_init(void)
{
    for (int i = PLI_OP_USER + 1; i < PLI_N_OP; i++) {
        predefined[i].is_commutative = i != PLI_OP_REPLACE && i != PLI_OP_NO_OP;
        predefined[i].which = (uint8_t)i;
        pli_handle_predefine(&predefined[i].obj, PLI_KIND_OP, (int)(uintptr_t)rows[i].handle);
    }
}

struct pli_op *pli_op_retain(struct pli_op *op)
{
    return op->obj.value != 0 ? op : pli_handle_retain(op);
}

void pli_op_release(struct pli_op *op)
{
    if (op != NULL && op->obj.value == 0 && pli_handle_release(op)) {
        pli_handle_destroy(op, sizeof *op);
    }
}

const char *pli_op_label(const struct pli_op *op)
{
    return rows[op->which].name;
}

// The loop for elements of a predefined type; NULL: not defined on it.
static pli_op_fn kernel_of(const struct pli_op *op, const struct pli_datatype *elem)
{
    if ((rows[op->which].families >> elem->family & 1) == 0) {
        return NULL;
    }
    if (elem->family == PLI_FAMILY_PAIR) {
        return pli_op_pair(op->which, elem->number, elem->index);
    }
    return pli_op_kernel(op->which, elem->number);
}

static const char *what_it_takes(const struct pli_op *op)
{
    switch (rows[op->which].families) {
    case FIELDS:
        return "integers, floating-point and complex numbers";
    case ORDERED:
        return "integers and floating-point numbers";
    case BITS:
        return "integers and MPI_BYTE";
    case TRUTHS:
        return "C integers and logical types";
    default:
        return "value-index pairs such as MPI_DOUBLE_INT";
    }
}

static enum pli_err fail_pair(const struct pli_op *op, const struct pli_datatype *type)
{
    return pli_fail(PLI_ERR_OP, "%s is not defined on %s; it takes %s", pli_op_label(op),
                    pli_datatype_label(type), what_it_takes(op));
}

// Whether the type is one predefined element, perhaps under another handle.
static bool is_single(const struct pli_datatype *t)
{
    return t->elem != NULL && t->size == t->elem->size && t->extent == t->elem->extent &&
           t->true_lb == t->elem->true_lb;
}

enum pli_err pli_op_check(const struct pli_op *op, const struct pli_datatype *type)
{
    if (op->which == PLI_OP_USER) {
        return PLI_OK;
    }
    if (op->which == PLI_OP_REPLACE || op->which == PLI_OP_NO_OP) {
        return pli_fail(PLI_ERR_OP, "%s is for one-sided functions only", pli_op_label(op));
    }
    if (!is_single(type)) {
        return pli_fail(PLI_ERR_OP,
                        "%s is not defined on %s; a predefined operation takes predefined "
                        "datatypes, others need MPI_Op_create",
                        pli_op_label(op), pli_datatype_label(type));
    }
    return kernel_of(op, type->elem) != NULL ? PLI_OK : fail_pair(op, type);
}

enum pli_err pli_op_check_accumulate(const struct pli_op *op, const struct pli_datatype *type)
{
    if (op->which == PLI_OP_USER) {
        return pli_fail(PLI_ERR_OP, "one-sided functions take predefined operations only");
    }
    if (type->elem == NULL && type->size > 0) {
        return pli_fail(PLI_ERR_TYPE,
                        "%s has elements of several predefined types; an accumulating function "
                        "takes one",
                        pli_datatype_label(type));
    }
    if (type->size == 0 || op->which == PLI_OP_REPLACE || op->which == PLI_OP_NO_OP) {
        return PLI_OK;
    }
    return kernel_of(op, type->elem) != NULL ? PLI_OK : fail_pair(op, type);
}

// User functions take an int: longer vectors come in pieces.
static void apply_user(struct pli_op *op, const char *in, char *inout, MPI_Count count,
                       struct pli_datatype *type)
{
    MPI_Datatype handle = pli_handle_of(type, PLI_KIND_DATATYPE);
    if (op->is_large) {
        if (pli_user_calls == NULL) {
            op->user_c((void *)in, inout, &count, &handle);
        } else {
            pli_user_calls->op_c(op->user_c, (void *)in, inout, &count, &handle);
        }
        return;
    }
    while (count > 0) {
        int n = count > INT_MAX ? INT_MAX : (int)count;
        if (pli_user_calls == NULL) {
            op->user((void *)in, inout, &n, &handle);
        } else {
            pli_user_calls->op(op->user, (void *)in, inout, &n, &handle);
        }
        n = count > INT_MAX ? INT_MAX : (int)count;
        in = (const char *)((uintptr_t)in + (uintptr_t)(n * type->extent));
        inout = (char *)((uintptr_t)inout + (uintptr_t)(n * type->extent));
        count -= n;
    }
}

void pli_op_apply(struct pli_op *op, const void *in, void *inout, MPI_Count count,
                  struct pli_datatype *type)
{
    switch (op->which) {
    case PLI_OP_USER:
        apply_user(op, in, inout, count, type);
        break;
    case PLI_OP_REPLACE:
        pli_cursor_copy(in, count, type, inout, count, type);
        break;
    case PLI_OP_NO_OP:
        break;
    default:
        kernel_of(op, type->elem)(in, inout, (size_t)count);
    }
}

static enum pli_err make(int commute, struct pli_op **out)
{
    struct pli_op *op = pli_handle_create(PLI_KIND_OP, sizeof *op);
    if (op == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for an operation");
    }
    op->is_commutative = commute != 0;
    *out = op;
    return PLI_OK;
}

enum pli_err pli_op_create(MPI_User_function *fn, int commute, struct pli_op **out)
{
    if (fn == NULL) {
        return pli_fail(PLI_ERR_ARG, "the user function is a null pointer");
    }
    enum pli_err err = make(commute, out);
    if (err == PLI_OK) {
        (*out)->user = fn;
    }
    return err;
}

enum pli_err pli_op_create_large(MPI_User_function_c *fn, int commute, struct pli_op **out)
{
    if (fn == NULL) {
        return pli_fail(PLI_ERR_ARG, "the user function is a null pointer");
    }
    enum pli_err err = make(commute, out);
    if (err == PLI_OK) {
        (*out)->user_c = fn;
        (*out)->is_large = true;
    }
    return err;
}

enum pli_err pli_op_free(struct pli_op *op)
{
    if (op->obj.value != 0) {
        return pli_fail(PLI_ERR_OP, "%s is predefined and cannot be freed", pli_op_label(op));
    }
    pli_op_release(op);
    return PLI_OK;
}

enum pli_err pli_op_commutative(struct pli_op *op, int *commute_out)
{
    *commute_out = op->is_commutative;
    return PLI_OK;
}

enum pli_err pli_op_reduce_local(const void *in, void *inout, MPI_Count count,
                                 struct pli_datatype *type, struct pli_op *op)
{
    enum pli_err err = count == 0 ? PLI_OK : pli_op_check(op, type);
    if (err != PLI_OK || count == 0) {
        return err;
    }
    if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE) {
        return pli_fail(PLI_ERR_BUFFER, "MPI_IN_PLACE has no meaning here");
    }
    if (in == inout && type->size > 0) {
        return pli_fail(PLI_ERR_BUFFER, "inbuf and inoutbuf are the same memory");
    }
    pli_op_apply(op, in, inout, count, type);
    return PLI_OK;
}
