//--- local_to_shared
int x;
shared int *p = &x; // error: makes pointer-to-shared
//--- local_to_shared_cast
int x;
void f(void) { shared int *p = (shared int *)&x; } // error: cannot cast a pointer-to-local
//--- integer_to_shared
void f(int i) { shared int *p = i; } // error: makes pointer-to-shared
//--- integer_to_shared_cast
void f(int i) { shared int *p = (shared int *)i; } // error: cannot cast 'int'
//--- one_to_shared
shared int *p = 1; // error: makes pointer-to-shared
//--- null_ok
shared int *p = 0, *q = (void *)0;
void f(shared int *p) { p = 0; f(0); f((void *)0); f((shared int *)0); if (p == 0) return; }
//--- shared_to_local_implicit
shared int x;
int *p;
void f(void) { p = &x; } // warning: makes pointer-to-local
//--- shared_to_local_argument
void g(int *);
shared int x;
void f(void) { g(&x); } // warning: passing argument 1 makes pointer-to-local
//--- shared_to_local_void
void g(void *);
shared int a[THREADS];
void f(void) { g(a); } // warning: makes pointer-to-local
//--- shared_to_local_return
shared int x;
int *f(void) { return &x; } // warning: return makes pointer-to-local
//--- shared_to_local_cast_ok
shared int x;
int *f(void) { return (int *)&x; }
//--- shared_to_int
shared int x;
long f(void) { long v = &x; return v; } // warning: makes integer
//--- shared_to_int_cast_ok
shared int x;
unsigned long f(void) { return (unsigned long)&x; }
//--- shared_to_double
shared int x;
double f(void) { double v = &x; return v; } // error: incompatible
//--- shared_to_double_cast
shared int x;
double f(void) { return (double)&x; } // error: cannot cast a pointer-to-shared
//--- block_sizes_assign
shared int *p; shared [] int *q;
void f(void) { p = q; } // error: block sizes
//--- block_sizes_init
shared [2] int a[4*THREADS];
void f(void) { shared int *p = a; } // error: block sizes
//--- block_sizes_argument
void g(shared [4] int *);
shared int a[THREADS];
void f(void) { g(a); } // error: passing argument 1: block sizes
//--- block_sizes_return
shared [2] int a[4*THREADS];
shared int *f(void) { return a; } // error: return: block sizes
//--- block_sizes_cast_ok
shared [2] int a[4*THREADS];
shared int *f(void) { return (shared int *)a; }
//--- target_types
shared int *p; shared double *q;
void f(void) { p = q; } // error: point to incompatible types
//--- generic_ok
shared int *p; shared [] double *q; shared void *v;
void f(void) { v = p; p = v; v = q; q = v; if (v == p || q == v) return; }
//--- drop_const
const shared int *p; shared int *q;
void f(void) { q = p; } // warning: discards 'const'
//--- drop_strict
strict shared int *p; shared int *q;
void f(void) { q = p; } // warning: discards 'strict'
//--- add_const_ok
shared int *p; const shared int *q; volatile strict shared int *r;
void f(void) { q = p; }
//--- compare_block_sizes
int f(shared int *p, shared [] int *q) { return p == q; } // error: different block sizes
//--- less_block_sizes
int f(shared int *p, shared [2] int *q) { return p < q; } // error: different block sizes
//--- minus_block_sizes
long f(shared int *p, shared [2] int *q) { return p - q; } // error: different block sizes
//--- compare_types
int f(shared int *p, shared long *q) { return p == q; } // error: incompatible types
//--- compare_local
int f(shared int *p, int *q) { return p == q; } // error: invalid operands
//--- compare_integer
int f(shared int *p) { return p == 5; } // error: invalid operands
//--- minus_local
long f(shared int *p, int *q) { return p - q; } // error: invalid operands
//--- less_void
int f(shared void *p, shared void *q) { return p < q; } // error: complete type
//--- less_incomplete
struct I;
int f(shared struct I *p, shared struct I *q) { return p < q; } // error: complete type
//--- add_void
shared void *f(shared void *p) { return p + 1; } // error: complete type
//--- add_incomplete
struct I;
shared struct I *f(shared struct I *p) { return p + 1; } // error: complete type
//--- increment_void
void f(shared void *p) { p++; } // error: incomplete shared type
//--- index_void
void f(shared void *p) { (void)&p[1]; } // error: incomplete shared type
//--- add_pointers
void f(shared int *p) { p + p; } // error: invalid operands
//--- add_double
void f(shared int *p) { p + 1.5; } // error: invalid operands
//--- multiply
void f(shared int *p) { p * 2; } // error: invalid operands
//--- negate
void f(shared int *p) { -p; } // error: wrong type argument
//--- times_assign
void f(shared int *p) { p *= 2; } // error: invalid operands
//--- add_assign_double
void f(shared int *p) { p += 1.5; } // error: invalid operands
//--- int_add_assign_pointer
void f(shared int *p, int i) { i += p; } // error: invalid operands
//--- deref_void
void f(shared void *p) { *p; } // error: dereferencing a 'shared void *'
//--- subscript_double
shared int a[THREADS];
int f(double d) { return a[d]; } // error: array subscript is not an integer
//--- address_bitfield
shared struct { int b : 3; } s;
void f(void) { (void)&s.b; } // error: address of bit-field
//--- no_member
shared struct S { int b; } s;
int f(void) { return s.c; } // error: no member named 'c'
//--- member_of_scalar
shared int x;
int f(void) { return x.c; } // error: not a structure
//--- assign_const
shared const int x = 3;
void f(void) { x = 4; } // error: read-only
//--- increment_const
shared const int x = 3;
void f(void) { x++; } // error: read-only
//--- assign_array
shared int a[THREADS], b[THREADS];
void f(void) { a = b; } // error: lvalue required // error: assignment
//--- cond_mixed
int *f(int c, shared int *p, int *q) { return (int *)(c ? p : q); } // error: conditional expression mixes
//--- cond_block_sizes
shared int *f(int c, shared int *p, shared [] int *q) { return c ? p : q; } // error: different block sizes
//--- cond_generic_ok
shared void *f(int c, shared int *p, shared void *q) { return c ? p : q; }
//--- assign_struct_mismatch
struct A { int x; }; struct B { int x; };
shared struct A a;
void f(struct B b) { a = b; } // error: incompatible types
