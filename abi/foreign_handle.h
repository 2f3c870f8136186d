// SPDX-License-Identifier: BSD-3-Clause
// Handles, statuses and the special addresses of another MPI's ABI, for those of the standard ABI.
#ifndef PLI_FOREIGN_HANDLE_H
#define PLI_FOREIGN_HANDLE_H

#include "foreign_types.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Of the library below: where the objects are that are not predefined (src/obj/handle.h).
extern uintptr_t pli_handle_base;
extern size_t pli_handle_used;

enum {
    PLI_FOREIGN_PREDEFINED = 1024, // handles of the standard ABI below this are predefined
    PLI_FOREIGN_ALIGN = 64         // objects begin at multiples of it
};

#if F_HANDLES_ARE_INTS

// MPICH: bits 30 and 31 say null, predefined, or other; 26 to 29 the kind of object.
enum pli_foreign_type {
    PLI_FOREIGN_COMM,
    PLI_FOREIGN_GROUP,
    PLI_FOREIGN_DATATYPE,
    PLI_FOREIGN_ERRHANDLER,
    PLI_FOREIGN_OP,
    PLI_FOREIGN_INFO,
    PLI_FOREIGN_WIN,
    PLI_FOREIGN_REQUEST,
    PLI_FOREIGN_MESSAGE,
    PLI_FOREIGN_SESSION,
    PLI_FOREIGN_FILE,
    PLI_FOREIGN_N
};

// Hidden, so that their addresses are known without a look into a table (make bench B=abi).
extern const uint16_t pli_foreign_builtin_in[PLI_FOREIGN_N][256]
    __attribute__((visibility("hidden")));
extern const uint32_t pli_foreign_builtin_out[PLI_FOREIGN_PREDEFINED]
    __attribute__((visibility("hidden")));
_Noreturn void pli_foreign_env_full(void);
void *pli_foreign_threadcomm_in(uint32_t h); // the calling thread's rank of it; NULL: it has none

// An object is a number of 26 bits: where it begins among all objects. Some of the pairs of MPICH
// are of the kind 2, so ours are all of the kind 3.
static inline void *pli_foreign_in(uint32_t h, enum pli_foreign_type type, uint32_t kind)
{
    if (h >> 26 == (0x30 | kind)) {
        return (void *)(pli_handle_base + (uintptr_t)(h & 0x3ffffff) * PLI_FOREIGN_ALIGN);
    }
    uint32_t slot = h >> 30 == 1 ? h & 0x7f : h >> 30 == 2 ? 0x80 | (h & 0x7f) : 0x7f;
    uint16_t value = pli_foreign_builtin_in[type][slot];
    return pli_foreign_builtin_out[value] == h ? (void *)(uintptr_t)value
           : type == PLI_FOREIGN_COMM          ? pli_foreign_threadcomm_in(h)
                                               : NULL;
}

static inline int pli_foreign_out(const void *h, uint32_t kind)
{
    uintptr_t v = (uintptr_t)h;
    if (v < PLI_FOREIGN_PREDEFINED) {
        return (int)pli_foreign_builtin_out[v];
    }
    uintptr_t number = (v - pli_handle_base) / PLI_FOREIGN_ALIGN;
    if (number > 0x3ffffff) {
        pli_foreign_env_full();
    }
    return (int)(0xc0000000u | kind << 26 | (uint32_t)number);
}

#define PLI_FOREIGN_CONVERT(name, Name, NAME)                                                      \
    static inline MPI_##Name pli_foreign_##name##_in(F_##Name h)                                   \
    {                                                                                              \
        return (MPI_##Name)pli_foreign_in((uint32_t)h, PLI_FOREIGN_##NAME, F_KIND_##NAME);         \
    }                                                                                              \
    static inline F_##Name pli_foreign_##name##_out(MPI_##Name h)                                  \
    {                                                                                              \
        return pli_foreign_out(h, F_KIND_##NAME);                                                  \
    }                                                                                              \
    static inline MPI_Fint pli_foreign_##name##_c2f(F_##Name h)                                    \
    {                                                                                              \
        return h;                                                                                  \
    }                                                                                              \
    static inline F_##Name pli_foreign_##name##_f2c(MPI_Fint i)                                    \
    {                                                                                              \
        return i;                                                                                  \
    }

static inline MPI_File pli_foreign_file_in(F_File h)
{
    return h == NULL ? MPI_FILE_NULL : (MPI_File)(void *)h;
}

static inline F_File pli_foreign_file_out(MPI_File h)
{
    return h == MPI_FILE_NULL ? NULL : (F_File)(void *)h;
}

#else

// Open MPI: a predefined handle is the address of a variable, of which the program may have a copy.
#define PLI_FOREIGN_MAGIC 0x504c49414e544d50ull

struct F_object {
    uint64_t magic;
    uintptr_t value; // the handle in the standard ABI; 0: there is no such
    uint16_t flags;  // of a datatype: F_TYPE_IS_RUN, or 0; the bindings for Java read it
    int32_t fortran; // its number in Fortran; -1: it has none
};
enum { F_TYPE_IS_RUN = 0x30 }; // one element is a run of bytes, and so are several
_Static_assert(offsetof(struct F_object, flags) == 16,
               "where Open MPI has the flags of a datatype");

extern struct F_object *const pli_foreign_builtin_out[PLI_FOREIGN_PREDEFINED];

// Fortran's numbers of predefined handles are below this. Those of others are not below
// PLI_FOREIGN_PREDEFINED.
enum { PLI_FOREIGN_FORTRAN = 128 };

static inline bool pli_foreign_is_predefined(const void *h)
{
    const struct F_object *o = h;
    return (uintptr_t)h >= 4096 && (uintptr_t)h % _Alignof(struct F_object) == 0 &&
           o->magic == PLI_FOREIGN_MAGIC;
}

static inline void *pli_foreign_in(const void *h)
{
    if ((uintptr_t)h - pli_handle_base < pli_handle_used) {
        return (void *)h;
    }
    return pli_foreign_is_predefined(h) ? (void *)((const struct F_object *)h)->value : NULL;
}

static inline void *pli_foreign_out(const void *h)
{
    return (uintptr_t)h < PLI_FOREIGN_PREDEFINED ? (void *)pli_foreign_builtin_out[(uintptr_t)h]
                                                 : (void *)h;
}

// Whether a handle is one of an object that is not predefined.
static inline bool pli_foreign_is_other(const void *h)
{
    return (uintptr_t)h - pli_handle_base < pli_handle_used;
}

static inline MPI_Fint pli_foreign_fortran_of(const void *h)
{
    return pli_foreign_is_predefined(h) ? ((const struct F_object *)h)->fortran : -1;
}

#define PLI_FOREIGN_CONVERT(name, Name, NAME)                                                      \
    static inline MPI_##Name pli_foreign_##name##_in(F_##Name h)                                   \
    {                                                                                              \
        return (MPI_##Name)pli_foreign_in(h);                                                      \
    }                                                                                              \
    static inline F_##Name pli_foreign_##name##_out(MPI_##Name h)                                  \
    {                                                                                              \
        return (F_##Name)pli_foreign_out(h);                                                       \
    }                                                                                              \
    static inline MPI_Fint pli_foreign_##name##_c2f(F_##Name h)                                    \
    {                                                                                              \
        return pli_foreign_is_other(h) ? pli_std_MPI_##Name##_toint_((MPI_##Name)(void *)h)        \
                                       : pli_foreign_fortran_of(h);                                \
    }                                                                                              \
    extern struct F_object *const pli_foreign_fortran_##name[PLI_FOREIGN_FORTRAN];                 \
    static inline F_##Name pli_foreign_##name##_f2c(MPI_Fint i)                                    \
    {                                                                                              \
        return (unsigned)i < PLI_FOREIGN_FORTRAN ? (F_##Name)(void *)pli_foreign_fortran_##name[i] \
               : i < PLI_FOREIGN_PREDEFINED                                                        \
                   ? NULL                                                                          \
                   : pli_foreign_##name##_out(pli_std_MPI_##Name##_fromint_(i));                   \
    }

// Datatypes are called types in these two functions alone.
#define pli_std_MPI_Comm_toint_ pli_std_MPI_Comm_toint
#define pli_std_MPI_Comm_fromint_ pli_std_MPI_Comm_fromint
#define pli_std_MPI_Group_toint_ pli_std_MPI_Group_toint
#define pli_std_MPI_Group_fromint_ pli_std_MPI_Group_fromint
#define pli_std_MPI_Datatype_toint_ pli_std_MPI_Type_toint
#define pli_std_MPI_Datatype_fromint_ pli_std_MPI_Type_fromint
#define pli_std_MPI_Errhandler_toint_ pli_std_MPI_Errhandler_toint
#define pli_std_MPI_Errhandler_fromint_ pli_std_MPI_Errhandler_fromint
#define pli_std_MPI_Op_toint_ pli_std_MPI_Op_toint
#define pli_std_MPI_Op_fromint_ pli_std_MPI_Op_fromint
#define pli_std_MPI_Info_toint_ pli_std_MPI_Info_toint
#define pli_std_MPI_Info_fromint_ pli_std_MPI_Info_fromint
#define pli_std_MPI_Win_toint_ pli_std_MPI_Win_toint
#define pli_std_MPI_Win_fromint_ pli_std_MPI_Win_fromint
#define pli_std_MPI_Request_toint_ pli_std_MPI_Request_toint
#define pli_std_MPI_Request_fromint_ pli_std_MPI_Request_fromint
#define pli_std_MPI_Message_toint_ pli_std_MPI_Message_toint
#define pli_std_MPI_Message_fromint_ pli_std_MPI_Message_fromint
#define pli_std_MPI_Session_toint_ pli_std_MPI_Session_toint
#define pli_std_MPI_Session_fromint_ pli_std_MPI_Session_fromint

static inline MPI_File pli_foreign_file_in(F_File h)
{
    return (MPI_File)pli_foreign_in(h);
}

static inline F_File pli_foreign_file_out(MPI_File h)
{
    return (F_File)pli_foreign_out(h);
}

#endif

PLI_FOREIGN_CONVERT(comm, Comm, COMM)
PLI_FOREIGN_CONVERT(group, Group, GROUP)
PLI_FOREIGN_CONVERT(datatype, Datatype, DATATYPE)
PLI_FOREIGN_CONVERT(errhandler, Errhandler, ERRHANDLER)
PLI_FOREIGN_CONVERT(op, Op, OP)
PLI_FOREIGN_CONVERT(info, Info, INFO)
PLI_FOREIGN_CONVERT(win, Win, WIN)
PLI_FOREIGN_CONVERT(request, Request, REQUEST)
PLI_FOREIGN_CONVERT(message, Message, MESSAGE)
PLI_FOREIGN_CONVERT(session, Session, SESSION)

// The null file is 0 in both of their Fortran interfaces.
static inline MPI_Fint pli_foreign_file_c2f(F_File h)
{
    MPI_File file = pli_foreign_file_in(h);
    return file == MPI_FILE_NULL ? 0 : pli_std_MPI_File_toint(file);
}

static inline F_File pli_foreign_file_f2c(MPI_Fint i)
{
    return pli_foreign_file_out(i == 0 ? MPI_FILE_NULL : pli_std_MPI_File_fromint(i));
}

// Error codes and classes (foreign_error.c).
int pli_foreign_error_in(int code);
int pli_foreign_error_out(int code);
// NULL, or what pli_foreign_error_out calls instead: for bindings that look codes up in a table, in
// which one with marks has no place.
extern int (*pli_foreign_error_unmarked)(int code);

// The special addresses. MPI_BOTTOM is NULL everywhere.
static inline void *pli_foreign_buffer_in(const void *buf)
{
    return buf == F_MPI_IN_PLACE ? MPI_IN_PLACE : (void *)buf;
}

static inline int *pli_foreign_weights_in(const int *w)
{
#ifdef F_MPI_UNWEIGHTED
    return w == F_MPI_UNWEIGHTED      ? MPI_UNWEIGHTED
           : w == F_MPI_WEIGHTS_EMPTY ? MPI_WEIGHTS_EMPTY
                                      : (int *)w;
#else
    return (int *)w; // variables of ours have our values
#endif
}

// All performance variables of a session: a handle that is no address.
static inline MPI_T_pvar_handle pli_foreign_pvar_in(MPI_T_pvar_handle h)
{
#ifdef F_MPI_T_PVAR_ALL_HANDLES
    return (void *)h == F_MPI_T_PVAR_ALL_HANDLES ? MPI_T_PVAR_ALL_HANDLES : h;
#else
    return h;        // a variable of ours has our value
#endif
}

// A status that a call may leave alone, or all of it but the error.
static inline void pli_foreign_status_unset(MPI_Status *s)
{
    s->MPI_SOURCE = s->MPI_ERROR = INT_MIN;
}

enum { PLI_FOREIGN_CANCELLED = 2 }; // word of MPI_internal (src/obj/status.h)

// The count of bytes has a mark in bit 63. Where there are 63 bits, ones in all above bit 47 are
// the mark; a message with the mark is never as long.
#define PLI_FOREIGN_MARK ((uint64_t)0x7fff << 48)

static inline void pli_foreign_status_out(F_Status *to, const MPI_Status *from)
{
    if (from->MPI_SOURCE == INT_MIN) {
        return;
    }
    uint64_t bytes;
    memcpy(&bytes, from->MPI_internal, sizeof bytes);
    bool is_cancelled = from->MPI_internal[PLI_FOREIGN_CANCELLED] != 0;
#if F_HANDLES_ARE_INTS
    bytes = bytes >> 63 != 0 ? bytes << 1 >> 1 | PLI_FOREIGN_MARK : bytes;
    to->count_lo = (int)(uint32_t)bytes;
    to->count_hi_and_cancelled = (int)((uint32_t)(bytes >> 32) << 1 | is_cancelled);
#else
    to->bytes = bytes;
    to->is_cancelled = is_cancelled;
#endif
    to->MPI_SOURCE = pli_foreign_rank_out(from->MPI_SOURCE);
    to->MPI_TAG = pli_foreign_tag_out(from->MPI_TAG);
    if (from->MPI_ERROR != INT_MIN) {
        to->MPI_ERROR = from->MPI_ERROR == 0 ? 0 : pli_foreign_error_out(from->MPI_ERROR);
    }
}

static inline void pli_foreign_status_in(MPI_Status *to, const F_Status *from)
{
#if F_HANDLES_ARE_INTS
    uint32_t high = (uint32_t)from->count_hi_and_cancelled;
    uint64_t bytes = (uint64_t)(high >> 1) << 32 | (uint32_t)from->count_lo;
    if ((bytes & PLI_FOREIGN_MARK) == PLI_FOREIGN_MARK) {
        bytes = (bytes & ~PLI_FOREIGN_MARK) | (uint64_t)1 << 63;
    }
    bool is_cancelled = high & 1;
#else
    uint64_t bytes = from->bytes;
    bool is_cancelled = from->is_cancelled != 0;
#endif
    *to = (MPI_Status){ .MPI_SOURCE = pli_foreign_rank_in(from->MPI_SOURCE),
                        .MPI_TAG = pli_foreign_tag_in(from->MPI_TAG),
                        .MPI_ERROR = pli_foreign_error_in(from->MPI_ERROR) };
    memcpy(to->MPI_internal, &bytes, sizeof bytes);
    to->MPI_internal[PLI_FOREIGN_CANCELLED] = is_cancelled;
}

#endif
