// SPDX-License-Identifier: BSD-3-Clause
// Datatypes in external32. The native library packs data without gaps in the order of the type map;
// what is left for us is the sequence of scalars in it, found from the type's construction, and the
// change of each scalar's form. So the bytes are the same whichever library packed them.
#include "shim/shim.h"
#include "shim/shim_pack.h"
#include "wire/impi_ext32.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMED = 80 };

struct sig;

struct run {
    enum pli_impi_ext32_kind kind; // if sub is NULL
    const struct sig *sub;
    uint64_t n;
    int per; // scalars of one basic element: 2 of a complex number
};

struct sig { // the scalars of one element, in order
    size_t ext, native;
    uint64_t n_elem; // basic elements: a complex number is one
    int n_run;
    atomic_int n_user; // a type is freed by the program, without the lock
    bool is_named;
    bool is_flat; // of one kind of scalar, and its native form has no gaps
    struct run run[];
};

static struct {
    MPI_Datatype type;
    struct sig *sig;
} named[MAX_NAMED];
static int n_named;
static int keyval = MPI_KEYVAL_INVALID; // derived types carry their sig

static void release(struct sig *s)
{
    if (s == NULL || atomic_fetch_sub(&s->n_user, 1) > 1) {
        return;
    }
    for (int i = 0; i < s->n_run; i++) {
        release((struct sig *)(uintptr_t)s->run[i].sub);
    }
    free(s);
}

static struct sig *make(int n_run)
{
    struct sig *s = calloc(1, sizeof *s + (size_t)n_run * sizeof s->run[0]);
    if (s != NULL) {
        s->n_run = n_run;
        s->n_user = 1;
    }
    return s;
}

static void measure(struct sig *s)
{
    for (int i = 0; i < s->n_run; i++) {
        const struct run *r = &s->run[i];
        s->ext += r->n * (r->sub != NULL ? r->sub->ext : pli_impi_ext32_size(r->kind));
        s->native += r->n * (r->sub != NULL ? r->sub->native : pli_impi_ext32_native(r->kind));
        s->n_elem += r->sub != NULL ? r->n * r->sub->n_elem : r->n / (uint64_t)r->per;
    }
}

// n scalars of one kind, which are one basic element; or two basic elements if n is 0.
static void name(MPI_Datatype type, enum pli_impi_ext32_kind first, int n,
                 enum pli_impi_ext32_kind second)
{
    bool is_pair = n == 0;
    struct sig *s = make(is_pair ? 2 : 1);
    if (s == NULL || type == MPI_DATATYPE_NULL || n_named == MAX_NAMED) {
        free(s);
        return;
    }
    s->run[0] =
        (struct run){ .kind = first, .n = is_pair ? 1 : (uint64_t)n, .per = is_pair ? 1 : n };
    if (is_pair) {
        s->run[1] = (struct run){ .kind = second, .n = 1, .per = 1 };
    }
    s->is_flat = !is_pair;
    s->is_named = true;
    measure(s);
    named[n_named].type = type;
    named[n_named++].sig = s;
}

static void name_all(void)
{
    enum pli_impi_ext32_kind b1 = PLI_IMPI_EXT32_SAME1, b2 = PLI_IMPI_EXT32_SAME2,
                             b4 = PLI_IMPI_EXT32_SAME4, b8 = PLI_IMPI_EXT32_SAME8,
                             l = PLI_IMPI_EXT32_LONG, ul = PLI_IMPI_EXT32_ULONG,
                             ld = PLI_IMPI_EXT32_LDOUBLE;
    if ((pli_shim.job->features & PLI_IMPI_HAS_LONG8) != 0) {
        l = ul = b8;
    }
    const struct {
        MPI_Datatype type;
        enum pli_impi_ext32_kind kind;
        int n;
    } plain[] = {
        { MPI_INT, b4, 1 },
        { MPI_DOUBLE, b8, 1 },
        { MPI_BYTE, b1, 1 },
        { MPI_CHAR, b1, 1 },
        { MPI_FLOAT, b4, 1 },
        { MPI_LONG, l, 1 },
        { MPI_UNSIGNED, b4, 1 },
        { MPI_LONG_LONG, b8, 1 },
        { MPI_UNSIGNED_LONG, ul, 1 },
        { MPI_UNSIGNED_LONG_LONG, b8, 1 },
        { MPI_SIGNED_CHAR, b1, 1 },
        { MPI_UNSIGNED_CHAR, b1, 1 },
        { MPI_PACKED, b1, 1 },
        { MPI_SHORT, b2, 1 },
        { MPI_UNSIGNED_SHORT, b2, 1 },
        { MPI_WCHAR, PLI_IMPI_EXT32_WCHAR, 1 },
        { MPI_LONG_DOUBLE, ld, 1 },
        { MPI_C_BOOL, b1, 1 },
        { MPI_INT8_T, b1, 1 },
        { MPI_UINT8_T, b1, 1 },
        { MPI_INT16_T, b2, 1 },
        { MPI_UINT16_T, b2, 1 },
        { MPI_INT32_T, b4, 1 },
        { MPI_UINT32_T, b4, 1 },
        { MPI_INT64_T, b8, 1 },
        { MPI_UINT64_T, b8, 1 },
        { MPI_AINT, b8, 1 },
        { MPI_OFFSET, b8, 1 },
        { MPI_COUNT, b8, 1 },
        { MPI_C_FLOAT_COMPLEX, b4, 2 },
        { MPI_C_DOUBLE_COMPLEX, b8, 2 },
        { MPI_C_LONG_DOUBLE_COMPLEX, ld, 2 },
        { MPI_CHARACTER, b1, 1 },
        { MPI_LOGICAL, b4, 1 },
        { MPI_INTEGER, b4, 1 },
        { MPI_REAL, b4, 1 },
        { MPI_DOUBLE_PRECISION, b8, 1 },
        { MPI_COMPLEX, b4, 2 },
        { MPI_DOUBLE_COMPLEX, b8, 2 },
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        name(plain[i].type, plain[i].kind, plain[i].n, b1);
    }
    name(MPI_2INT, b4, 0, b4);
    name(MPI_FLOAT_INT, b4, 0, b4);
    name(MPI_DOUBLE_INT, b8, 0, b4);
    name(MPI_LONG_INT, l, 0, b4);
    name(MPI_SHORT_INT, b2, 0, b4);
    name(MPI_LONG_DOUBLE_INT, ld, 0, b4);
}

static int forget(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)extra;
    release(value);
    return MPI_SUCCESS;
}

static int find(MPI_Datatype type, struct sig **out);

static uint64_t product(const MPI_Count *v, MPI_Count n)
{
    uint64_t p = 1;
    for (MPI_Count i = 0; i < n; i++) {
        p *= (uint64_t)v[i];
    }
    return p;
}

static uint64_t sum(const MPI_Count *v, MPI_Count n)
{
    uint64_t s = 0;
    for (MPI_Count i = 0; i < n; i++) {
        s += (uint64_t)v[i];
    }
    return s;
}

// How many elements of its one old type a constructor holds; UINT64_MAX: not such a one.
static uint64_t repeats(int combiner, const MPI_Count *i, MPI_Datatype whole, MPI_Datatype old)
{
    MPI_Count whole_size = 0, old_size = 0;
    switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return 1;
    case MPI_COMBINER_CONTIGUOUS:
        return (uint64_t)i[0];
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return (uint64_t)i[0] * (uint64_t)i[1];
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
        return sum(i + 1, i[0]);
    case MPI_COMBINER_SUBARRAY:
        return product(i + 1 + i[0], i[0]);
    case MPI_COMBINER_DARRAY:
        (void)PMPI_Type_size_x(whole, &whole_size);
        (void)PMPI_Type_size_x(old, &old_size);
        return old_size == 0 ? 0 : (uint64_t)whole_size / (uint64_t)old_size;
    default:
        return UINT64_MAX;
    }
}

void pli_shim_type_free_derived(MPI_Datatype *type)
{
    int combiner;
#if MPI_VERSION >= 4
    MPI_Count ni, na, nl, nd;
    int rc = PMPI_Type_get_envelope_c(*type, &ni, &na, &nl, &nd, &combiner);
#else
    int ni, na, nd, rc = PMPI_Type_get_envelope(*type, &ni, &na, &nd, &combiner);
#endif
    if (rc == MPI_SUCCESS && combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
        combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER) {
        (void)PMPI_Type_free(type);
    }
}

// How a type was made: the numbers that its constructor got, as far as they are needed here.
struct made {
    int combiner, nd;
    MPI_Count *v;
    MPI_Datatype *old;
};

#if MPI_VERSION >= 4
// A constructor for large counts has them in a list of their own; only the number of dimensions
// stays an int.
static int look(MPI_Datatype type, struct made *m)
{
    MPI_Count ni, na, nl, nd;
    int rc = PMPI_Type_get_envelope_c(type, &ni, &na, &nl, &nd, &m->combiner);
    if (rc != MPI_SUCCESS || nd == 0) {
        return rc;
    }
    int *ints = malloc(((size_t)ni + 1) * sizeof *ints);
    MPI_Aint *aints = malloc(((size_t)na + 1) * sizeof *aints);
    MPI_Count *large = malloc(((size_t)nl + 1) * sizeof *large);
    m->v = malloc(((size_t)ni + (size_t)nl + 1) * sizeof *m->v);
    m->old = malloc((size_t)nd * sizeof *m->old);
    rc = ints == NULL || aints == NULL || large == NULL || m->v == NULL || m->old == NULL
             ? MPI_ERR_NO_MEM
             : PMPI_Type_get_contents_c(type, ni, na, nl, nd, ints, aints, large, m->old);
    m->nd = rc == MPI_SUCCESS ? (int)nd : 0;
    bool is_grid = m->combiner == MPI_COMBINER_SUBARRAY || m->combiner == MPI_COMBINER_DARRAY;
    MPI_Count n_int = nl == 0 ? ni : is_grid ? 1 : 0;
    for (MPI_Count i = 0; i < n_int + nl && rc == MPI_SUCCESS; i++) {
        m->v[i] = i < n_int ? ints[i] : large[i - n_int];
    }
    free(ints);
    free(aints);
    free(large);
    return rc;
}
#else
static int look(MPI_Datatype type, struct made *m)
{
    int ni, na, nd;
    int rc = PMPI_Type_get_envelope(type, &ni, &na, &nd, &m->combiner);
    if (rc != MPI_SUCCESS || nd == 0) {
        return rc;
    }
    int *ints = malloc(((size_t)ni + 1) * sizeof *ints);
    MPI_Aint *aints = malloc(((size_t)na + 1) * sizeof *aints);
    m->v = malloc(((size_t)ni + 1) * sizeof *m->v);
    m->old = malloc((size_t)nd * sizeof *m->old);
    rc = ints == NULL || aints == NULL || m->v == NULL || m->old == NULL
             ? MPI_ERR_NO_MEM
             : PMPI_Type_get_contents(type, ni, na, nd, ints, aints, m->old);
    m->nd = rc == MPI_SUCCESS ? nd : 0;
    for (int i = 0; i < ni && rc == MPI_SUCCESS; i++) {
        m->v[i] = ints[i];
    }
    free(ints);
    free(aints);
    return rc;
}
#endif

static bool is_flat(const struct sig *s, int combiner)
{
    const struct sig *sub = s->n_run == 1 ? s->run[0].sub : NULL;
    return (combiner == MPI_COMBINER_CONTIGUOUS || combiner == MPI_COMBINER_DUP) && sub != NULL &&
           sub->is_flat;
}

static int derive(MPI_Datatype type, struct sig **out)
{
    static const char *const strange = "data of this type cannot be sent to another MPI";
    struct made m = { 0 };
    int rc = look(type, &m);
    struct sig *s = rc == MPI_SUCCESS && m.nd > 0 ? make(m.nd) : NULL;
    if (rc == MPI_SUCCESS && s == NULL) {
        rc = m.nd == 0 ? pli_shim_fail(MPI_ERR_TYPE, strange) : MPI_ERR_NO_MEM;
    }
    for (int k = 0; rc == MPI_SUCCESS && k < m.nd; k++) {
        struct sig *sub = NULL;
        uint64_t n = m.combiner == MPI_COMBINER_STRUCT ? (uint64_t)m.v[1 + k]
                                                       : repeats(m.combiner, m.v, type, m.old[k]);
        rc = n == UINT64_MAX ? pli_shim_fail(MPI_ERR_TYPE, strange) : find(m.old[k], &sub);
        if (rc == MPI_SUCCESS) {
            s->run[k] = (struct run){ .sub = sub, .n = n };
            sub->n_user++;
        }
    }
    for (int k = 0; k < m.nd; k++) {
        pli_shim_type_free_derived(&m.old[k]);
    }
    free(m.v);
    free(m.old);
    if (rc != MPI_SUCCESS) {
        release(s);
        return rc;
    }
    measure(s);
    s->is_flat = is_flat(s, m.combiner);
    *out = s;
    return MPI_SUCCESS;
}

static int find(MPI_Datatype type, struct sig **out)
{
    int flag = 0;
    if (n_named == 0) {
        name_all();
    }
    for (int i = 0; i < n_named; i++) {
        if (named[i].type == type) {
            *out = named[i].sig;
            return MPI_SUCCESS;
        }
    }
    if (type == MPI_DATATYPE_NULL) {
        return MPI_ERR_TYPE;
    }
    if (keyval == MPI_KEYVAL_INVALID) {
        int rc = PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL);
        if (rc != MPI_SUCCESS) {
            return rc;
        }
    }
    if (PMPI_Type_get_attr(type, keyval, out, &flag) == MPI_SUCCESS && flag != 0) {
        return MPI_SUCCESS;
    }
    int rc = derive(type, out);
    return rc == MPI_SUCCESS ? PMPI_Type_set_attr(type, keyval, *out) : rc;
}

int pli_shim_type_size(MPI_Datatype type, size_t *ext_out)
{
    struct sig *s;
    int rc = find(type, &s);
    if (rc == MPI_SUCCESS) {
        *ext_out = s->ext;
    }
    return rc;
}

bool pli_shim_type_is_flat(MPI_Datatype type, size_t *native_out)
{
    struct sig *s;
    if (find(type, &s) != MPI_SUCCESS || !s->is_flat) {
        return false;
    }
    *native_out = s->native;
    return true;
}

// Basic elements in the first *len bytes of n elements of the type: whole ones at once, then what
// there is of the next. What is left of *len is no whole scalar.
static MPI_Count scalars(const struct sig *s, uint64_t n, size_t *len)
{
    uint64_t whole = s->ext == 0 ? n : *len / s->ext;
    whole = whole < n ? whole : n;
    MPI_Count found = (MPI_Count)(whole * s->n_elem);
    *len -= whole * s->ext;
    for (int i = 0; whole < n && i<s->n_run && * len> 0; i++) {
        const struct run *r = &s->run[i];
        if (r->sub != NULL) {
            found += scalars(r->sub, r->n, len);
            if (*len > 0 && *len < r->sub->ext) {
                break; // it ends inside this one
            }
            continue;
        }
        size_t size = pli_impi_ext32_size(r->kind);
        uint64_t m = *len / size < r->n ? *len / size : r->n;
        found += (MPI_Count)(m / (uint64_t)r->per);
        *len -= m * size;
        if (m < r->n) {
            break;
        }
    }
    return found;
}

int pli_shim_type_elements(MPI_Datatype type, size_t len, MPI_Count *out)
{
    struct sig *s;
    int rc = find(type, &s);
    if (rc == MPI_SUCCESS) {
        *out = s->ext == 0 ? 0 : scalars(s, len / s->ext + 1, &len);
        *out = len > 0 ? MPI_UNDEFINED : *out;
    }
    return rc;
}

// n elements from gapless native form to external32 or back; the pointers move on.
static enum pli_impi_err convert(const struct sig *s, uint64_t n, bool outward,
                                 unsigned char **native, unsigned char **ext)
{
    enum pli_impi_err err = PLI_IMPI_OK;
    if (s->n_run == 1) { // all elements at once
        const struct run *r = &s->run[0];
        if (r->sub != NULL) {
            return convert(r->sub, n * r->n, outward, native, ext);
        }
        n *= r->n;
        err = outward ? pli_impi_ext32_pack(r->kind, *native, n, *ext)
                      : pli_impi_ext32_unpack(r->kind, *ext, n, *native);
        *native += n * pli_impi_ext32_native(r->kind);
        *ext += n * pli_impi_ext32_size(r->kind);
        return err;
    }
    for (uint64_t k = 0; k < n && err == PLI_IMPI_OK; k++) {
        for (int i = 0; i < s->n_run && err == PLI_IMPI_OK; i++) {
            const struct run *r = &s->run[i];
            if (r->sub != NULL) {
                err = convert(r->sub, r->n, outward, native, ext);
                continue;
            }
            err = outward ? pli_impi_ext32_pack(r->kind, *native, r->n, *ext)
                          : pli_impi_ext32_unpack(r->kind, *ext, r->n, *native);
            *native += r->n * pli_impi_ext32_native(r->kind);
            *ext += r->n * pli_impi_ext32_size(r->kind);
        }
    }
    return err;
}

static int judge(enum pli_impi_err err)
{
    if (err == PLI_IMPI_OK) {
        return MPI_SUCCESS;
    }
    pli_shim.misfit = pli_shim_fail(MPI_ERR_OTHER, "a number does not fit external32, in which a "
                                                   "long has 4 bytes and a wchar_t 2");
    return pli_shim.misfit;
}

// MPI_Pack and MPI_Unpack of the native library in its own format.
static int native_some(bool outward, void *buf, MPI_Count count, MPI_Datatype type, void *packed,
                       MPI_Count len)
{
#if MPI_VERSION >= 4
    MPI_Count at = 0;
    int rc = outward ? PMPI_Pack_c(buf, count, type, packed, len, &at, MPI_COMM_SELF)
                     : PMPI_Unpack_c(packed, len, &at, buf, count, type, MPI_COMM_SELF);
#else
    int at = 0;
    int rc = outward ? PMPI_Pack(buf, (int)count, type, packed, (int)len, &at, MPI_COMM_SELF)
                     : PMPI_Unpack(packed, (int)len, &at, buf, (int)count, type, MPI_COMM_SELF);
#endif
    return rc == MPI_SUCCESS && outward && at != len ? MPI_ERR_INTERN : rc;
}

// The same for `count` elements of `size` bytes, in pieces that an int counts. Without functions
// for large counts there is no such piece of an element that has more bytes.
static int native_all(bool outward, char *buf, MPI_Count count, MPI_Datatype type, char *packed,
                      MPI_Count size)
{
    MPI_Count step = size == 0 ? count : INT32_MAX / size;
    MPI_Aint lb, extent;
    int rc = PMPI_Type_get_extent(type, &lb, &extent);
    if (MPI_VERSION < 4 && step == 0) {
        rc = pli_shim_fail(MPI_ERR_TYPE,
                           "an element of more than 2 GiB with gaps cannot be sent to another MPI");
    }
    step = step == 0 ? 1 : step;
    for (MPI_Count at = 0; at < count && rc == MPI_SUCCESS; at += step) {
        MPI_Count n = count - at < step ? count - at : step;
        rc = native_some(outward, buf + at * extent, n, type, packed + at * size, n * size);
    }
    return rc;
}

// Some libraries take MPI_BOTTOM for a mistake there: for it a type that counts from the first byte
// of the data is made.
int pli_shim_type_native(bool outward, void *buf, MPI_Count count, MPI_Datatype type, void *packed,
                         MPI_Count size)
{
    MPI_Datatype shifted = MPI_DATATYPE_NULL;
    MPI_Aint lb, extent, back;
    int one = 1, rc = MPI_SUCCESS;
    if (buf == MPI_BOTTOM) {
        rc = PMPI_Type_get_true_extent(type, &lb, &extent);
        back = -lb;
        if (rc == MPI_SUCCESS) {
            rc = PMPI_Type_create_hindexed(1, &one, &back, type, &shifted);
        }
        if (rc == MPI_SUCCESS) {
            rc = PMPI_Type_commit(&shifted);
        }
        if (rc == MPI_SUCCESS) {
            buf = (void *)(uintptr_t)lb;
            type = shifted;
        }
    }
    rc = rc == MPI_SUCCESS ? native_all(outward, buf, count, type, packed, size) : rc;
    if (shifted != MPI_DATATYPE_NULL) {
        (void)PMPI_Type_free(&shifted);
    }
    return rc;
}

int pli_shim_type_pack(const void *buf, MPI_Count count, MPI_Datatype type, unsigned char *out)
{
    struct sig *s;
    int rc = find(type, &s);
    unsigned char *from = (unsigned char *)(uintptr_t)buf;
    if (rc != MPI_SUCCESS || count == 0 || s->ext == 0) {
        return rc;
    }
    if (s->is_flat) {
        return judge(convert(s, (uint64_t)count, true, &from, &out));
    }
    unsigned char *tmp = malloc(s->native * (size_t)count);
    if (tmp == NULL) {
        return MPI_ERR_NO_MEM;
    }
    rc = pli_shim_type_native(true, (void *)(uintptr_t)buf, count, type, tmp, (MPI_Count)s->native);
    from = tmp;
    if (rc == MPI_SUCCESS) {
        rc = judge(convert(s, (uint64_t)count, true, &from, &out));
    }
    free(tmp);
    return rc;
}

// The first `len` bytes of one element that is not whole: the rest of it stays as it is. Scalars
// are taken while they are whole.
static enum pli_impi_err convert_some(const struct sig *s, uint64_t n, size_t *len,
                                      unsigned char **native, unsigned char **ext)
{
    for (uint64_t k = 0; k < n; k++) {
        for (int i = 0; i < s->n_run; i++) {
            const struct run *r = &s->run[i];
            if (r->sub != NULL) {
                enum pli_impi_err err = convert_some(r->sub, r->n, len, native, ext);
                if (err != PLI_IMPI_OK) {
                    return err;
                }
                continue;
            }
            size_t size = pli_impi_ext32_size(r->kind);
            uint64_t m = *len / size < r->n ? *len / size : r->n;
            enum pli_impi_err err = pli_impi_ext32_unpack(r->kind, *ext, m, *native);
            *native += m * pli_impi_ext32_native(r->kind);
            *ext += m * size;
            *len -= m * size;
            if (err != PLI_IMPI_OK || m < r->n) {
                *len = 0;
                return err != PLI_IMPI_OK ? err : PLI_IMPI_AGAIN; // there is no more
            }
        }
    }
    return PLI_IMPI_OK;
}

static int unpack_tail(const struct sig *s, unsigned char *in, size_t len, char *buf,
                       MPI_Datatype type)
{
    unsigned char *tmp = malloc(s->native), *to = tmp;
    if (tmp == NULL) {
        return MPI_ERR_NO_MEM;
    }
    int rc = pli_shim_type_native(true, buf, 1, type, tmp, (MPI_Count)s->native);
    if (rc == MPI_SUCCESS) {
        enum pli_impi_err err = convert_some(s, 1, &len, &to, &in);
        rc = judge(err == PLI_IMPI_AGAIN ? PLI_IMPI_OK : err);
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_type_native(false, buf, 1, type, tmp, (MPI_Count)s->native);
    }
    free(tmp);
    return rc;
}

int pli_shim_type_unpack(const unsigned char *in, size_t len, void *buf, MPI_Count count,
                         MPI_Datatype type)
{
    struct sig *s;
    int rc = find(type, &s);
    unsigned char *from = (unsigned char *)(uintptr_t)in, *to = buf;
    if (rc != MPI_SUCCESS || count == 0 || s->ext == 0) {
        return rc;
    }
    if (type == MPI_PACKED) {
        pli_shim_pack_forget(buf, len);
    }
    size_t n = len / s->ext < (size_t)count ? len / s->ext : (size_t)count;
    size_t tail = n < (size_t)count ? len - n * s->ext : 0;
    if (s->is_flat) {
        enum pli_impi_err err = convert(s, n, false, &to, &from);
        err = err == PLI_IMPI_OK && tail > 0 ? convert_some(s, 1, &tail, &to, &from) : err;
        return judge(err == PLI_IMPI_AGAIN ? PLI_IMPI_OK : err);
    }
    unsigned char *tmp = malloc(s->native * n + 1);
    if (tmp == NULL) {
        return MPI_ERR_NO_MEM;
    }
    to = tmp;
    rc = judge(convert(s, n, false, &to, &from));
    if (rc == MPI_SUCCESS && n > 0) {
        rc = pli_shim_type_native(false, buf, (MPI_Count)n, type, tmp, (MPI_Count)s->native);
    }
    free(tmp);
    if (rc == MPI_SUCCESS && tail > 0) {
        MPI_Aint lb, extent;
        (void)PMPI_Type_get_extent(type, &lb, &extent);
        rc = unpack_tail(s, from, tail, (char *)buf + (MPI_Aint)n * extent, type);
    }
    return rc;
}

void *pli_shim_type_buffer(MPI_Count count, MPI_Datatype type, void **buf_out)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    (void)PMPI_Type_get_extent(type, &lb, &extent);
    (void)PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    MPI_Aint step = extent < 0 ? -extent : extent;
    MPI_Aint len = true_extent + (count > 0 ? (MPI_Aint)(count - 1) * step : 0);
    char *mem = calloc(1, (size_t)len + 16);
    *buf_out = mem == NULL ? NULL : mem - true_lb + (extent < 0 ? (MPI_Aint)(count - 1) * step : 0);
    return mem;
}

int pli_shim_type_hold(MPI_Datatype *type)
{
    struct sig *s;
    int rc = find(*type, &s);
    if (rc != MPI_SUCCESS || s->is_named) {
        return rc;
    }
    return PMPI_Type_dup(*type, type);
}

void pli_shim_type_drop(MPI_Datatype *type)
{
    struct sig *s;
    if (find(*type, &s) == MPI_SUCCESS && !s->is_named) {
        (void)PMPI_Type_free(type);
    }
}
