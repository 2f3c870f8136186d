//--- assign_threads
void f(void) { THREADS = 4; } // error: 'THREADS' is not an lvalue
//--- assign_mythread
void f(void) { MYTHREAD = 4; } // error: 'MYTHREAD' is not an lvalue
//--- increment_mythread
void f(void) { MYTHREAD++; } // error: 'MYTHREAD' is not an lvalue
//--- address_threads
int *f(void) { return &THREADS; } // error: cannot take the address of 'THREADS'
//--- address_mythread
int *f(void) { return &MYTHREAD; } // error: cannot take the address of 'MYTHREAD'
//--- blocksizeof_private
int x;
int f(void) { return upc_blocksizeof(x); } // error: needs an operand of shared type
//--- elemsizeof_private_type
int f(void) { return upc_elemsizeof(int); } // error: needs an operand of shared type
//--- localsizeof_pointer
shared int *p;
int f(void) { return upc_localsizeof(p); } // error: needs an operand of shared type
//--- sizes_ok
shared [4] int a[8*THREADS];
shared int *p;
int f(void) { return upc_localsizeof(a) + upc_blocksizeof(*p) + upc_elemsizeof(shared [2] long); }
//--- sizeof_incomplete
extern shared int a[];
unsigned long f(void) { return sizeof(a); } // error: incomplete type
//--- localsizeof_incomplete
struct I;
extern shared struct I i;
unsigned long f(void) { return upc_localsizeof(i); } // error: incomplete type
//--- sizeof_void
unsigned long f(shared void *p) { return sizeof(*p); } // error: incomplete type // error: dereferencing
//--- blocksizeof_bitfield
shared struct { int b : 3; } s;
int f(void) { return upc_elemsizeof(s.b); } // error: bit-field
//--- barrier_pointer
shared int x;
void f(void) { upc_barrier &x; } // error: cannot be converted to int
//--- notify_struct
struct S { int a; } s;
void f(void) { upc_notify s; upc_wait; } // error: cannot be converted to int
//--- wait_string
void f(void) { upc_notify; upc_wait "a"; } // error: cannot be converted to int
//--- barrier_float_ok
void f(void) { upc_barrier 2.7; upc_barrier (1), 2; upc_notify 'c'; upc_wait 'c'; upc_fence; }
//--- fence_operand
void f(void) { upc_fence 1; } // error: expected ';'
//--- forall_float
shared int a[THREADS];
void f(void) { upc_forall (int i = 0; i < 4; i++; 1.5) a[i] = 0; } // error: affinity must be
//--- forall_local_pointer
int a[4];
void f(void) { upc_forall (int i = 0; i < 4; i++; &a[i]) a[i] = 0; } // error: affinity must be
//--- forall_three_clauses
void f(void) { upc_forall (int i = 0; i < 4; i++) ; } // error: expected ';' before the affinity
//--- forall_break
void f(void) { upc_forall (int i = 0; i < 4; i++; i) { if (i) break; } } // warning: leaving upc_forall by break
//--- forall_inner_break_ok
void f(void) { upc_forall (int i = 0; i < 4; i++; i) { for (;;) break; switch (i) { case 1: break; } } }
//--- forall_return
void f(void) { upc_forall (int i = 0; i < 4; i++; i) return; } // warning: leaving upc_forall by return
//--- pragma_middle
shared int x;
void f(void) {
    x = 1;
#pragma upc strict
    x = 2; // warning: must be outside functions or first in a block
}
//--- pragma_unknown
#pragma upc sideways
int x; // warning: ignoring '#pragma upc sideways'
//--- pragma_ok
#pragma upc strict
#pragma upc relaxed
shared int x;
void f(void) {
#pragma upc strict
    x = 2;
    {
#pragma upc relaxed
        x = 3;
    }
}
//--- syntax_missing_semicolon
shared int a[THREADS];
void f(void) {
    a[0] = 1 // error: expected ';'
    a[1] = 2;
}
//--- syntax_missing_paren
void f(void) { if (1 { } } // error: expected ')'
//--- syntax_unknown_type
foo x; // error: unknown type name 'foo'
//--- syntax_expression
int f(void) { return 1 + ; } // error: expected an expression
//--- syntax_end
int f(void) { // error: expected an expression at end of input
//--- syntax_stray
int x @ 3; // error: stray character
//--- syntax_string
char *s = "abc; // error: missing terminating // warning: missing terminating
//--- read_incomplete
struct I;
extern shared struct I i;
void g();
void f(void) { g(i); } // error: incomplete shared type
//--- undeclared
shared int a[THREADS];
void f(void) { a[0] = nothere + nothere; } // error: 'nothere' undeclared
//--- macro_position
#define STORE(x, v) ((x) = (v))
int *priv;
shared int s;
void f(void) { STORE(priv, &s); } // warning: makes pointer-to-local
