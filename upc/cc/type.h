// SPDX-License-Identifier: BSD-3-Clause
// Types of C11, GNU C and UPC. A type is never changed once built, except that a record or an
// enumeration is completed in place, and that a declaration names the lengths of shared arrays.
// TY_UNKNOWN stands for what only the C compiler understands; every check lets it pass.
#ifndef PLI_UPC_CC_TYPE_H
#define PLI_UPC_CC_TYPE_H

#include "unit.h"

enum type_kind {
    TY_UNKNOWN,
    TY_VOID,
    TY_BOOL,
    TY_CHAR,
    TY_SCHAR,
    TY_UCHAR,
    TY_SHORT,
    TY_USHORT,
    TY_INT,
    TY_UINT,
    TY_LONG,
    TY_ULONG,
    TY_LLONG,
    TY_ULLONG,
    TY_INT128,
    TY_UINT128,
    TY_ENUM,
    TY_FLOAT16,
    TY_FLOAT,
    TY_DOUBLE,
    TY_LDOUBLE,
    TY_FLOAT128,
    TY_COMPLEX,
    TY_PTR,
    TY_ARRAY,
    TY_FUNC,
    TY_STRUCT,
    TY_UNION,
};

enum {
    Q_CONST = 1,
    Q_VOLATILE = 2,
    Q_RESTRICT = 4,
    Q_ATOMIC = 8,
    Q_SHARED = 16,
    Q_STRICT = 32,
    Q_RELAXED = 64,
    Q_UPC = Q_SHARED | Q_STRICT | Q_RELAXED,
};

// Block sizes of shared types beside the positive ones; 0 is indefinite.
enum { BLOCK_PLAIN = -1, BLOCK_STAR = -2 };
enum { LEN_NONE = -1, LEN_VLA = -2 };

struct member {
    struct member *next;
    struct name *name; // NULL: anonymous record or padding bit-field
    struct type *type;
    bool is_bitfield;
    int64_t width;
    int64_t align; // asked for by an attribute, or 0
    bool packed;
    int64_t offset;
};

struct record {
    bool is_union, is_complete, packed;
    int64_t align_attr, pack; // pack: from #pragma pack, 0 none
    struct member *members;
    struct name *tag;    // NULL: see label
    const char *label;   // made-up tag of an untagged record
    int64_t size, align; // size -1: not known
};

struct enumdef {
    struct name *tag;
    const char *label;
    bool is_complete, is_unsigned, is_long;
};

struct param {
    struct param *next;
    struct type *type; // adjusted
    struct name *name;
    size_t tok; // of the name, or of the declaration
    size_t t0, t1;
};

struct type {
    enum type_kind kind;
    unsigned quals;
    int64_t block;         // with Q_SHARED
    struct type *base;     // PTR, ARRAY, FUNC, COMPLEX
    int64_t len;           // ARRAY
    bool len_bad;          // THREADS in its length in a way that is not allowed
    bool len_threads;      // the number of elements is len * THREADS
    bool is_spelled_out;   // of a typedef that C cannot have: printed in full where it is used
    size_t len_t0, len_t1; // tokens of a VLA's length
    bool len_acts;         // computing it has side effects
    int len_id;            // the variable __pli_len<ID> holds it; 0: the tokens stand for it
    struct record *rec;
    struct enumdef *en;
    struct param *params;
    bool is_variadic, is_oldstyle;
    struct name *tdname; // the typedef it was written as
    struct type *canon;  // for tdname: the same type without the name
};

// A size in bytes or elements that may be a multiple of THREADS.
struct size {
    bool known;
    bool threads;
    int64_t n;
};

struct type *pli_type_basic(struct unit *u, enum type_kind kind);
struct type *pli_type_ptr(struct unit *u, struct type *to);
struct type *pli_type_array(struct unit *u, struct type *of, int64_t len, bool threads);
struct type *pli_type_func(struct unit *u, struct type *ret);
// Add qualifiers; on an array they reach its elements. block is used with Q_SHARED.
struct type *pli_type_qualify(struct unit *u, struct type *t, unsigned quals, int64_t block);
// The same type without some qualifiers, or on arrays without them on the elements.
struct type *pli_type_strip(struct unit *u, struct type *t, unsigned quals);
struct type *pli_type_copy(struct unit *u, const struct type *t);

const struct type *pli_type_ultimate(const struct type *t);
bool pli_type_is_shared(const struct type *t);
// Pointer-to-shared.
bool pli_type_is_pts(const struct type *t);
bool pli_type_is_generic(const struct type *t); // shared void *
// Block size of a shared type with "plain" folded into 1.
int64_t pli_type_block(const struct type *t);
bool pli_type_is_integer(const struct type *t);
bool pli_type_is_arith(const struct type *t);
bool pli_type_is_unsigned(const struct type *t);
bool pli_type_is_complete(const struct type *t);
bool pli_type_has_vla(const struct type *t);
int pli_type_rank(const struct type *t);
// Compatible types, qualifiers of the outermost level ignored when top is false.
bool pli_type_compat(const struct type *a, const struct type *b, bool quals);
// A private array whose length has THREADS, while that is dynamic.
bool pli_type_is_open(const struct type *t);
// True when the C text of a type must differ from its UPC text.
bool pli_type_needs_print(const struct type *t);

struct member *pli_type_member(const struct record *r, const struct name *name);

#endif
