//--- local_to_shared
int x;
shared int *p = &x; // error@17: makes pointer-to-shared
//--- local_to_shared_cast
int x;
void f(void) { shared int *p = (shared int *)&x; } // error@32: cannot cast a pointer-to-local
//--- integer_to_shared
void f(int i) { shared int *p = i; } // error@33: makes pointer-to-shared
//--- integer_to_shared_cast
void f(int i) { shared int *p = (shared int *)i; } // error@33: cannot cast 'int'
//--- one_to_shared
shared int *p = 1; // error@17: makes pointer-to-shared
//--- null_ok
shared int *p = 0, *q = (void *)0;
void f(shared int *p) { p = 0; f(0); f((void *)0); f((shared int *)0); if (p == 0) return; }
//--- shared_to_local_implicit
shared int x;
int *p;
void f(void) { p = &x; } // warning@20: makes pointer-to-local
//--- shared_to_local_argument
void g(int *);
shared int x;
void f(void) { g(&x); } // warning@18: passing argument 1 makes pointer-to-local
//--- shared_to_local_void
void g(void *);
shared int a[THREADS];
void f(void) { g(a); } // warning@18: makes pointer-to-local
//--- shared_to_local_return
shared int x;
int *f(void) { return &x; } // warning@23: return makes pointer-to-local
//--- shared_to_local_cast_ok
shared int x;
int *f(void) { return (int *)&x; }
//--- shared_to_int
shared int x;
long f(void) { long v = &x; return v; } // warning@25: makes integer
//--- shared_to_int_cast_ok
shared int x;
unsigned long f(void) { return (unsigned long)&x; }
//--- shared_to_double
shared int x;
double f(void) { double v = &x; return v; } // error@29: incompatible
//--- shared_to_double_cast
shared int x;
double f(void) { return (double)&x; } // error@25: cannot cast a pointer-to-shared
//--- block_sizes_assign
shared int *p; shared [] int *q;
void f(void) { p = q; } // error@20: block sizes
//--- block_sizes_init
shared [2] int a[4*THREADS];
void f(void) { shared int *p = a; } // error@32: block sizes
//--- block_sizes_argument
void g(shared [4] int *);
shared int a[THREADS];
void f(void) { g(a); } // error@18: passing argument 1: block sizes
//--- block_sizes_return
shared [2] int a[4*THREADS];
shared int *f(void) { return a; } // error@30: return: block sizes
//--- block_sizes_cast_ok
shared [2] int a[4*THREADS];
shared int *f(void) { return (shared int *)a; }
//--- target_types
shared int *p; shared double *q;
void f(void) { p = q; } // error@20: point to incompatible types
//--- generic_ok
shared int *p; shared [] double *q; shared void *v;
void f(void) { v = p; p = v; v = q; q = v; if (v == p || q == v) return; }
//--- drop_const
const shared int *p; shared int *q;
void f(void) { q = p; } // warning@20: discards 'const'
//--- drop_strict
strict shared int *p; shared int *q;
void f(void) { q = p; } // warning@20: discards 'strict'
//--- add_const_ok
shared int *p; const shared int *q; volatile strict shared int *r;
void f(void) { q = p; }
//--- compare_block_sizes
int f(shared int *p, shared [] int *q) { return p == q; } // error@51: different block sizes
//--- less_block_sizes
int f(shared int *p, shared [2] int *q) { return p < q; } // error@52: different block sizes
//--- minus_block_sizes
long f(shared int *p, shared [2] int *q) { return p - q; } // error@53: different block sizes
//--- compare_types
int f(shared int *p, shared long *q) { return p == q; } // error@49: incompatible types
//--- compare_local
int f(shared int *p, int *q) { return p == q; } // error@41: invalid operands
//--- compare_integer
int f(shared int *p) { return p == 5; } // error@33: invalid operands
//--- minus_local
long f(shared int *p, int *q) { return p - q; } // error@42: invalid operands
//--- less_void
int f(shared void *p, shared void *q) { return p < q; } // error@50: complete type
//--- less_incomplete
struct I;
int f(shared struct I *p, shared struct I *q) { return p < q; } // error@58: complete type
//--- add_void
shared void *f(shared void *p) { return p + 1; } // error@43: complete type
//--- add_incomplete
struct I;
shared struct I *f(shared struct I *p) { return p + 1; } // error@51: complete type
//--- increment_void
void f(shared void *p) { p++; } // error@27: incomplete shared type
//--- index_void
void f(shared void *p) { (void)&p[1]; } // error@34: incomplete shared type
//--- add_pointers
void f(shared int *p) { p + p; } // error@27: invalid operands
//--- add_double
void f(shared int *p) { p + 1.5; } // error@27: invalid operands
//--- multiply
void f(shared int *p) { p * 2; } // error@27: invalid operands
//--- negate
void f(shared int *p) { -p; } // error@25: wrong type argument
//--- times_assign
void f(shared int *p) { p *= 2; } // error@27: invalid operands
//--- add_assign_double
void f(shared int *p) { p += 1.5; } // error@27: invalid operands
//--- int_add_assign_pointer
void f(shared int *p, int i) { i += p; } // error@34: invalid operands
//--- deref_void
void f(shared void *p) { *p; } // error@26: dereferencing a 'shared void *'
//--- subscript_double
shared int a[THREADS];
int f(double d) { return a[d]; } // error@28: array subscript is not an integer
//--- address_bitfield
shared struct { int b : 3; } s;
void f(void) { (void)&s.b; } // error@22: address of bit-field
//--- no_member
shared struct S { int b; } s;
int f(void) { return s.c; } // error@24: no member named 'c'
//--- member_of_scalar
shared int x;
int f(void) { return x.c; } // error@24: not a structure
//--- assign_const
shared const int x = 3;
void f(void) { x = 4; } // error@18: read-only
//--- increment_const
shared const int x = 3;
void f(void) { x++; } // error@17: read-only
//--- assign_array
shared int a[THREADS], b[THREADS];
void f(void) { a = b; } // error@18: lvalue required // error@20: assignment
//--- cond_mixed
int *f(int c, shared int *p, int *q) { return (int *)(c ? p : q); } // error@57: conditional expression mixes
//--- cond_block_sizes
shared int *f(int c, shared int *p, shared [] int *q) { return c ? p : q; } // error@66: different block sizes
//--- cond_generic_ok
shared void *f(int c, shared int *p, shared void *q) { return c ? p : q; }
//--- assign_struct_mismatch
struct A { int x; }; struct B { int x; };
shared struct A a;
void f(struct B b) { a = b; } // error@24: incompatible types
//--- integer_argument
void g(shared int *);
void f(int i) { g(i); } // error@19: makes pointer-to-shared
//--- integer_return
shared int *f(int i) { return i; } // error@31: makes pointer-to-shared
//--- local_argument
void g(shared void *);
int x;
void f(void) { g(&x); } // error@18: makes pointer-to-shared
//--- local_return
int x;
shared int *f(void) { return &x; } // error@30: makes pointer-to-shared
//--- local_assign
int *q;
void f(shared int *p) { p = q; } // error@29: makes pointer-to-shared
//--- local_void_assign
void f(shared int *p, void *q) { p = q; } // error@38: makes pointer-to-shared
//--- double_to_shared_cast
shared int *f(double d) { return (shared int *)d; } // error@34: cannot cast
//--- struct_to_shared_cast
struct S { int a; } s;
shared int *f(void) { return (shared int *)s; } // error@30: cannot cast
//--- function_to_shared_cast
void g(void);
shared int *f(void) { return (shared int *)g; } // error@30: cannot cast
//--- shared_to_struct_cast
struct S { int a; };
void f(shared int *p) { (struct S)p; } // error@25: cast
//--- target_types_argument
void g(shared int *);
void f(shared float *p) { g(p); } // error@29: point to incompatible types
//--- target_types_return
shared int *f(shared long *p) { return p; } // error@40: point to incompatible types
//--- target_types_init
shared long x;
shared int *p = &x; // error@17: point to incompatible types
//--- block_sizes_global_init
shared [4] int a[4*THREADS];
shared [2] int *p = a; // error@21: block sizes
//--- block_sizes_member
struct S { shared int *p; } s;
void f(shared [2] int *q) { s.p = q; } // error@35: block sizes
//--- block_sizes_row
shared [4] int a[THREADS][4];
void f(void) { shared int *p = a[0]; } // error@33: block sizes
//--- member_is_indefinite
shared [4] struct S { int m[3]; } a[4*THREADS];
void f(void) { shared [4] int *p = a[1].m; } // error@41: block sizes
//--- member_is_indefinite_ok
shared [4] struct S { int m[3]; } a[4*THREADS];
void f(void) { shared [] int *p = a[1].m; (void)p; }
//--- drop_volatile
volatile shared int *p; shared int *q;
void f(void) { q = p; } // warning@20: discards 'volatile'
//--- drop_relaxed
relaxed shared int *p; shared int *q;
void f(void) { q = p; } // warning@20: discards 'relaxed'
//--- less_local
int f(shared int *p, int *q) { return p < q; } // error@41: invalid operands
//--- not_equal_local
int f(shared void *p, void *q) { return p != q; } // error@43: invalid operands
//--- not_equal_block_sizes
int f(shared [3] int *p, shared [] int *q) { return p != q; } // error@55: different block sizes
//--- greater_void
int f(shared void *p, shared void *q) { return p >= q; } // error@50: complete type
//--- greater_generic
int f(shared void *p, shared int *q) { return p >= q; } // error@49: incompatible types // error@49: complete type
//--- minus_void
long f(shared void *p, shared void *q) { return p - q; } // error@51: complete type
//--- minus_incomplete
struct I;
long f(shared struct I *p, shared struct I *q) { return p - q; } // error@59: complete type
//--- minus_types
long f(shared int *p, shared float *q) { return p - q; } // error@51: incompatible types
//--- minus_integer_left
void f(shared int *p) { 3 - p; } // error@27: invalid operands
//--- minus_assign_void
void f(shared void *p) { p -= 1; } // error@28: complete type
//--- decrement_incomplete
struct I;
void f(shared struct I *p) { --p; } // error@30: incomplete shared type
//--- index_incomplete
struct I;
void f(shared struct I *p) { (void)&p[1]; } // error@38: incomplete shared type
//--- complement
void f(shared int *p) { ~p; } // error@25: wrong type argument
//--- plus_sign
void f(shared int *p) { +p; } // error@25: wrong type argument
//--- remainder
void f(shared int *p) { p % 2; } // error@27: invalid operands
//--- shift
void f(shared int *p) { p << 2; } // error@27: invalid operands
//--- bit_or
void f(shared int *p) { p | 2; } // error@27: invalid operands
//--- bit_and_assign
void f(shared int *p) { p &= 2; } // error@27: invalid operands
//--- subscript_pointer
shared int a[THREADS];
int f(shared int *p) { return a[p]; } // error@33: array subscript is not an integer
//--- subscript_of_private_array
shared int a[THREADS];
int f(shared int *p, int *q) { int b[3] = { 0 }; return b[p]; } // error@59: array subscript is not an integer
int g(int *q) { return q[&a[0]]; } // error@26: array subscript is not an integer
int h(int *q) { return a[q]; } // error@26: array subscript is not an integer
//--- pointer_as_length
int f(shared int *p) { int b[p]; return sizeof b; } // error@30: size of array is not an integer
//--- deref_integer
int f(shared int *p) { return **p; } // error@31: invalid type argument
//--- call_shared_object
shared int x;
void f(void) { x(); } // error@16: not a function
//--- arrow_of_scalar
int f(shared int *p) { return p->m; } // error@34: not a structure
//--- cond_types
void f(int c, shared int *p, shared long *q) { c ? p : q; } // error@50: incompatible
//--- cond_integer
void f(int c, shared int *p) { c ? p : 5; } // error@34: conditional expression
//--- cond_null_ok
shared int *f(int c, shared int *p) { return c ? p : 0; }
//--- argument_second_place
void g(int, shared int *);
void f(int *q) { g(1, q); } // error@23: passing argument 2
//--- assign_member_const
shared struct S { const int a; } s;
void f(void) { s.a = 4; } // error@20: read-only
//--- assign_value_to_pointer_member
shared struct S { shared int *p; } s;
void f(int *q) { s.p = q; } // error@24: makes pointer-to-shared
//--- lock_is_opaque
#include <upc.h>
upc_lock_t l; // error@12: incomplete
//--- lock_size
#include <upc.h>
unsigned long n = sizeof(upc_lock_t); // error@25: incomplete type
//--- lock_local
#include <upc.h>
int x;
void f(void) { upc_lock(&x); } // error@25: makes pointer-to-shared
//--- lock_other_pointer
#include <upc.h>
shared int x;
void f(void) { upc_lock(&x); } // error@25: passing argument 1
//--- free_local
#include <upc.h>
#include <stdlib.h>
void f(void) { upc_free(malloc(4)); } // error@31: makes pointer-to-shared
//--- memget_to_shared
#include <upc.h>
shared [] int a[4];
int b[4];
void f(void) { upc_memget(a, a, sizeof b); } // warning@27: makes pointer-to-local
//--- memput_from_local_to_local
#include <upc.h>
int a[4], b[4];
void f(void) { upc_memput(a, b, sizeof b); } // error@27: passing argument 1 makes pointer-to-shared
//--- memcpy_local_source
#include <upc.h>
shared [] int a[4];
int b[4];
void f(void) { upc_memcpy(a, b, sizeof b); } // error@30: passing argument 2 makes pointer-to-shared
//--- alloc_to_local
#include <upc.h>
void f(void) { int *p = upc_alloc(4); } // warning@34: makes pointer-to-local
//--- threadof_integer
#include <upc.h>
unsigned long f(long x) { return upc_threadof(x); } // error@47: makes pointer-to-shared
//--- broadcast_local
#include <upc_collective.h>
shared int d[THREADS];
int s;
void f(void) { upc_all_broadcast(d, &s, sizeof s, 0); } // error@37: passing argument 2 makes pointer-to-shared
//--- atomic_local_target
#include <upc_atomic.h>
int x, one = 1;
void f(upc_atomicdomain_t *d) { upc_atomic_relaxed(d, 0, UPC_ADD, &x, &one, 0); } // error@67: passing argument 4 makes pointer-to-shared
//--- castable_local
#include <upc_castable.h>
int x;
void *f(void) { return upc_cast(&x); } // error@33: passing argument 1 makes pointer-to-shared
//--- file_local_handle
#include <upc_io.h>
#include <stdio.h>
void f(void) { upc_all_fclose(stdin); } // error@31: passing argument 1 makes pointer-to-shared
//--- memget_nb_local_source
#include <upc_nb.h>
int a, b;
void f(void) { upc_memget_nb(&a, &b, 4); } // error@34: passing argument 2 makes pointer-to-shared
//--- column_behind_macro
#include <stddef.h>
struct N { int key; shared struct N *next; };
shared struct N * shared head;
void f(int k) {
    shared struct N * shared *pp = &head;
    while (*pp != NULL && (*pp)->key < k) pp = &(*pp)->next; // error@48: block sizes
}
//--- column_of_prefix
void f(int *q, shared int *p, int a) { a += a &a; p = &a; } // error@55: makes pointer-to-shared
//--- column_behind_string
void g(const char *, shared int *);
void f(int *q) { g("q, q", /* q */ q); } // error@36: passing argument 2
//--- what_c_takes_it_for flags=-Wformat
#include <stdio.h>
void f(shared int *p, shared int *(*g)(void)) {
    long q = g; // warning@14: pointer-to-shared (*)(void)
    printf("%d", p); // warning@12: pointer-to-shared
    (void)q;
}
