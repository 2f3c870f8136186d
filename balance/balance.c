// SPDX-License-Identifier: BSD-3-Clause
// Creates and frees balance objects, and keeps their registered data and loads.
#include "balance_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_bad(MPIX_Balance b)
{
    return b == NULL ? pli_balance_error(NULL, MPI_ERR_ARG, "argument balance is MPIX_BALANCE_NULL")
                     : MPI_SUCCESS;
}

// The index must name an endpoint of this process.
static int is_off(MPIX_Balance b, int index)
{
    int code = is_bad(b);
    if (code == MPI_SUCCESS && (index < 0 || index >= b->n_here)) {
        code = pli_balance_error(b, MPI_ERR_ARG,
                                 "argument index is %d, but this process has %d endpoints now",
                                 index, b->n_here);
    }
    return code;
}

static int read_measure(MPI_Info info, int *is_measuring_out)
{
    char text[64] = "true";
    int length = sizeof text, is_there = 0;
    if (info != MPI_INFO_NULL) {
        MPI_Info_get_string(info, "mpix_balance_measure", &length, text, &is_there);
    }
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        return pli_balance_error_code(MPI_ERR_INFO_VALUE,
                                      "hint mpix_balance_measure is '%s'; it must be true or false",
                                      text);
    }
    *is_measuring_out = text[0] == 't';
    return MPI_SUCCESS;
}

static int read_info(MPI_Info info, double *gain_out)
{
    char text[64], *end;
    int length = sizeof text, is_there = 0;
    *gain_out = 1.05;
    if (info != MPI_INFO_NULL) {
        MPI_Info_get_string(info, "mpix_balance_gain", &length, text, &is_there);
    }
    if (is_there) {
        double gain = strtod(text, &end);
        if (end == text || *end != '\0' || !(gain >= 1) || isinf(gain)) {
            return pli_balance_error_code(
                MPI_ERR_INFO_VALUE,
                "hint mpix_balance_gain is '%s'; it must be a number from 1 "
                "up",
                text);
        }
        *gain_out = gain;
    }
    return MPI_SUCCESS;
}

static void destroy(struct pli_balance *b)
{
    pli_balance_measure_end(b);
    for (int i = 0; b->here != NULL && i < b->n_here; i++) {
        if (b->here[i] != NULL) {
            pli_balance_image_drop(b, b->here[i]);
            if (b->here[i]->comm != MPI_COMM_NULL) {
                MPI_Comm_free(&b->here[i]->comm);
            }
            free(b->here[i]);
        }
    }
    if (b->private != MPI_COMM_NULL) {
        MPI_Comm_free(&b->private);
    }
    if (b->info != MPI_INFO_NULL) {
        MPI_Info_free(&b->info);
    }
    free(b->here);
    free(b->ranks);
    free(b->owner);
    free(b);
}

// The map of the first endpoints: those of each process follow each other.
static int first_map(struct pli_balance *b, const int *count, int **owner_out, int *total_out)
{
    long long total = 0;
    for (int p = 0; p < b->size; p++) {
        total += count[p];
    }
    if (total > 0x7fffffff) {
        return pli_balance_error_code(MPI_ERR_ARG, "more endpoints than a communicator can have");
    }
    int *owner = malloc(((size_t)total + 1) * sizeof(int));
    *owner_out = owner;
    *total_out = (int)total;
    if (owner == NULL) {
        return pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for %lld endpoints", total);
    }
    for (int p = 0, at = 0; p < b->size; p++) {
        for (int i = 0; i < count[p]; i++) {
            owner[at++] = p;
        }
    }
    return MPI_SUCCESS;
}

// Exchange the number of endpoints of all processes, then make the endpoints.
static int populate(struct pli_balance *b, int n, int code)
{
    int *count = calloc((size_t)b->size, sizeof(int)), *owner = NULL, total = 0;
    MPI_Count bytes;
    if (code == MPI_SUCCESS && count == NULL) {
        code = pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for %d processes", b->size);
    }
    code = pli_balance_migrate_agree(b, code, "begin");
    if (code == MPI_SUCCESS) {
        code = MPI_Allgather(&n, 1, MPI_INT, count, 1, MPI_INT, b->private);
    }
    if (code == MPI_SUCCESS) {
        code = pli_balance_migrate_agree(b, first_map(b, count, &owner, &total), "make a map");
    }
    if (code == MPI_SUCCESS) {
        code = pli_balance_migrate(b, total, owner, &bytes); // from nothing to the first ones
    }
    free(count);
    free(owner);
    return code;
}

// A communicator of our own in the place of the user's.
static int open_private(struct pli_balance *b, MPI_Comm parent)
{
    int code = MPI_Comm_dup(parent, &b->private);
    if (code == MPI_SUCCESS) {
        b->parent = parent;
        MPI_Comm_set_errhandler(b->private, MPI_ERRORS_RETURN);
        MPI_Comm_rank(b->private, &b->rank);
        MPI_Comm_size(b->private, &b->size);
    }
    return code;
}

int MPIX_Balance_create(MPI_Comm parent, int my_num_ep, MPI_Info info, MPIX_Balance *balance)
{
    int is_inter = 0;
    int code = MPI_Comm_test_inter(parent, &is_inter);
    if (code != MPI_SUCCESS) {
        return code;
    }
    struct pli_balance *b = calloc(1, sizeof *b);
    if (b == NULL || is_inter || balance == NULL) {
        free(b);
        code = b == NULL  ? pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for a balance")
               : is_inter ? pli_balance_error_code(MPI_ERR_COMM, "parent is an intercommunicator")
                          : pli_balance_error_code(MPI_ERR_ARG, "argument balance is NULL");
        MPI_Comm_call_errhandler(parent, code);
        return code;
    }
    b->private = MPI_COMM_NULL;
    b->info = MPI_INFO_NULL;
    b->weight = 1;
    code = open_private(b, parent);
    if (code == MPI_SUCCESS) {
        if (info != MPI_INFO_NULL) {
            code = MPI_Info_dup(info, &b->info);
        }
        if (code == MPI_SUCCESS) {
            code = read_info(info, &b->gain);
        }
        if (code == MPI_SUCCESS) {
            code = read_measure(info, &b->is_measuring);
        }
        if (code == MPI_SUCCESS && my_num_ep < 0) {
            code = pli_balance_error_code(
                MPI_ERR_ARG, "argument my_num_ep is %d; it must not be negative", my_num_ep);
        }
        code = populate(b, my_num_ep, code);
    }
    if (code != MPI_SUCCESS) {
        destroy(b);
        MPI_Comm_call_errhandler(parent, code);
        return code;
    }
    *balance = b;
    return MPI_SUCCESS;
}

int MPIX_Balance_free(MPIX_Balance *balance)
{
    if (balance == NULL) {
        return pli_balance_error(NULL, MPI_ERR_ARG, "argument balance is NULL");
    }
    int code = is_bad(*balance);
    if (code == MPI_SUCCESS) {
        destroy(*balance);
        *balance = MPIX_BALANCE_NULL;
    }
    return code;
}

static int has_data(MPIX_Balance b)
{
    for (int i = 0; i < b->n_here; i++) {
        for (int k = 0; k < b->n_part; k++) {
            if (b->here[i]->data[k] != NULL) {
                return 1;
            }
        }
    }
    return 0;
}

int MPIX_Balance_register(MPIX_Balance b, const char *name, const MPIX_Balance_state *state,
                          void *arg, int *part)
{
    int code = is_bad(b);
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (name == NULL || name[0] == '\0' || strlen(name) > PLI_BALANCE_MAX_NAME) {
        return pli_balance_error(b, MPI_ERR_ARG, "argument name must have 1 to %d characters",
                                 PLI_BALANCE_MAX_NAME);
    }
    if (state == NULL || state->size == NULL || state->pack == NULL || state->unpack == NULL) {
        return pli_balance_error(b, MPI_ERR_ARG,
                                 "state '%s' needs functions for size, pack and unpack", name);
    }
    for (int i = 0; i < b->n_part; i++) {
        if (strcmp(b->part[i].name, name) == 0) {
            return pli_balance_error(b, MPI_ERR_ARG, "state '%s' is registered already", name);
        }
    }
    if (b->n_part == PLI_BALANCE_MAX_PART) {
        return pli_balance_error(b, MPI_ERR_ARG, "state '%s' is one more than the %d there can be",
                                 name, PLI_BALANCE_MAX_PART);
    }
    if (has_data(b)) {
        return pli_balance_error(b, MPI_ERR_ARG, "state '%s' comes after data was set", name);
    }
    struct pli_balance_part *p = &b->part[b->n_part];
    memcpy(p->name, name, strlen(name) + 1);
    p->calls = *state;
    p->arg = arg;
    if (part != NULL) {
        *part = b->n_part;
    }
    b->n_part++;
    return MPI_SUCCESS;
}

// Both must be right.
static int is_off_part(MPIX_Balance b, int index, int part)
{
    int code = is_off(b, index);
    if (code == MPI_SUCCESS && (part < 0 || part >= b->n_part)) {
        code = pli_balance_error(b, MPI_ERR_ARG,
                                 "argument part is %d, but %d kinds of state are registered", part,
                                 b->n_part);
    }
    return code;
}

int MPIX_Balance_set(MPIX_Balance b, int index, int part, void *data)
{
    int code = is_off_part(b, index, part);
    if (code == MPI_SUCCESS) {
        b->here[index]->data[part] = data;
    }
    return code;
}

int MPIX_Balance_get(MPIX_Balance b, int index, int part, void **data)
{
    int code = is_off_part(b, index, part);
    if (code == MPI_SUCCESS) {
        *data = b->here[index]->data[part];
        pli_balance_measure_begin(b, b->here[index]);
    }
    return code;
}

int MPIX_Balance_count(MPIX_Balance b, int *num_ep)
{
    int code = is_bad(b);
    if (code == MPI_SUCCESS) {
        *num_ep = b->n_here;
    }
    return code;
}

int MPIX_Balance_comm(MPIX_Balance b, int index, MPI_Comm *comm)
{
    int code = is_off(b, index);
    if (code == MPI_SUCCESS) {
        *comm = b->here[index]->comm;
    }
    return code;
}

int MPIX_Balance_where(MPIX_Balance b, int rank, int *parent_rank)
{
    int code = is_bad(b);
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (rank < 0 || rank >= b->n_ep) {
        return pli_balance_error(
            b, MPI_ERR_RANK, "argument rank is %d; there are endpoints 0 to %d", rank, b->n_ep - 1);
    }
    *parent_rank = b->owner[rank];
    return MPI_SUCCESS;
}

int MPIX_Balance_report(MPIX_Balance b, int index, double load)
{
    int code = is_off(b, index);
    if (code == MPI_SUCCESS && !(load >= 0 && !isinf(load))) {
        return pli_balance_error(b, MPI_ERR_ARG,
                                 "argument load is %g; it must be a number from 0 up", load);
    }
    if (code == MPI_SUCCESS) {
        b->here[index]->load += load;
    }
    return code;
}

int MPIX_Balance_weight(MPIX_Balance b, double weight)
{
    int code = is_bad(b);
    if (code == MPI_SUCCESS && !(weight >= 0 && !isinf(weight))) {
        return pli_balance_error(b, MPI_ERR_ARG,
                                 "argument weight is %g; it must be a number from 0 up", weight);
    }
    if (code == MPI_SUCCESS) {
        b->weight = weight;
    }
    return code;
}

int MPIX_Balance_image_size(MPIX_Balance b, int index, MPI_Count *bytes)
{
    int code = is_off(b, index);
    return code != MPI_SUCCESS
               ? code
               : pli_balance_error_raise(b, pli_balance_image_size(b, b->here[index], bytes));
}

int MPIX_Balance_image_pack(MPIX_Balance b, int index, void *buf, MPI_Count bytes)
{
    int code = is_off(b, index);
    return code != MPI_SUCCESS
               ? code
               : pli_balance_error_raise(b, pli_balance_image_pack(b, b->here[index], buf, bytes));
}

int MPIX_Balance_image_unpack(MPIX_Balance b, int index, const void *buf, MPI_Count bytes)
{
    int code = is_off(b, index);
    return code != MPI_SUCCESS ? code
                               : pli_balance_error_raise(
                                     b, pli_balance_image_unpack(b, b->here[index], buf, bytes));
}
