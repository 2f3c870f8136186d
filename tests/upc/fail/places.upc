//--- too_few_arguments
#include <upc.h>
shared int a[THREADS];
void g(void) { upc_memcpy(a, a); } // error@16: too few arguments to function
//--- too_many_arguments
#include <upc.h>
shared int x;
void g(void) { upc_free(0); x = 1; upc_alloc(x, 2); } // error@36: too many arguments to function
//--- call_shared
shared int a;
void g(void) { a(); } // error@16: called object is not a function or function pointer
//--- goto_shared
shared int x;
void g(void) { goto *x; } // error@22: computed goto must be pointer type
//--- switch_float
shared double d;
int g(void) { switch (d) { } return 1; } // error@23: switch quantity not an integer
//--- switch_pointer
shared int *p;
void g(void) { switch (p) { } } // error@24: switch needs an integer, not 'shared int *'
//--- remainder_float
shared int x;
int g(void) { return 1 + x % 2.0; } // error@28: invalid operands to binary % (have
//--- shift_assign_float
shared double x;
void g(void) { x <<= 1; } // error@18: invalid operands to binary << (have
//--- complement_float
shared double x;
int g(void) { return ~x; } // error@22: wrong type argument to bit-complement
//--- add_struct
shared struct { int a; } s;
int g(void) { return s + 1; } // error@24: invalid operands to binary + (have
//--- test_struct
shared struct { int a; } s;
int g(void) { if (s) return 1; return !s; } // error@19: used struct type value where scalar is required // error@39: wrong type argument to unary exclamation mark
//--- deref_int
shared int x;
int g(void) { return *x; } // error@22: invalid type argument of unary
//--- assign_text
shared int x[THREADS];
void g(int i) { x[i] = 1; x[i + 1] = "text"; } // warning@27: initialization of
//--- init_text
shared int x = "text"; // warning@16: initialization of // error@16: initializer element is not computable at load time
//--- init_variable
int y;
shared int z = 4, x = y; // error@23: initializer element is not constant
//--- init_twice
shared int x = { 1, 2 }; // warning@21: excess elements in scalar initializer
//--- behind_another
shared int a[THREADS], b; int f(int n) { return a[n] + b; } int g(void) { return f(1, 2); } // error@82: too many arguments to function
//--- two_lines
shared int a[THREADS];
int f(int n)
{
    return a[n] +
        a[n] % 2.0; // error@19: invalid operands to binary % (have
}
//--- in_forall
shared int a[THREADS];
void g(void)
{
    upc_forall (int i = 0; i < THREADS; i++; &a[i]) { a[i] = 1; a[i] = 2 % 1.5; } // error@74: invalid operands to binary % (have
}
//--- in_forall_clause
shared int a[THREADS];
void g(void)
{
    upc_forall (int i = 0; i % 1.5; i++; i) a[i] = 1; // error@30: invalid operands to binary % (have
}
//--- behind_hoisted
shared int a[THREADS], x;
shared int *shared p[THREADS] = { &a[1] }; int y = 1 % 1.5; // error@54: invalid operands to binary % (have
int z = 2 % 1.5; // error@11: invalid operands to binary % (have
int f(void) { static shared int *s = &a[1]; return *s % 1.5; } // error@55: invalid operands to binary % (have
int u = 2 % 1.5; // error@11: invalid operands to binary % (have
//--- in_barrier
shared int x;
void g(void) { upc_barrier x + 1 % 1.5; } // error@34: invalid operands to binary % (have
//--- behind_tab
shared int x;
int g(int n)
{
	n = x;	n = n % 1.5;	return	x % 1.5; // error@23: invalid operands to binary % (have // error@43: invalid operands to binary % (have
}
//--- behind_macro
#define TWICE(q) ((q) + (q))
shared int x;
int g(int n) { return TWICE(x) + TWICE(n) + n % 1.5; } // error@47: invalid operands to binary % (have
//--- function_pointer_parameter
void (*f)(shared int *);
void (*h)(shared [2] int *);
void g(void) { f = h; f = 0; } // warning@20: assignment: 'void (*)(shared [2] int *)' and 'void (*)(shared int *)' point to incompatible types
//--- function_pointer_argument
void m(void (*)(shared int *, int));
void k(shared [] int *, int);
void g(void) { m(k); } // warning@18: passing argument 1: 'void (*)(shared [] int *, int)' and 'void (*)(shared int *, int)' point to incompatible types
//--- function_pointer_same_ok
void m(void (*)(shared int *, int));
void k(shared int *, int);
void g(void) { m(k); }
//--- pointer_to_pointer
shared int **a;
shared [2] int **b;
void g(void) { a = b; a = 0; a = (shared int **)b; } // warning@20: assignment: 'shared [2] int **' and 'shared int **' point to incompatible types
//--- pointer_to_pointer_ok
shared int *c[2], **a = c;
void *v;
void g(void) { a = c; a = v; v = a; }
//--- conflicting_parameters
void f(shared int *p, int n);
void f(shared [2] int *p, int n) { } // error@6: conflicting types for 'f': 'void (shared [2] int *, int)'
//--- register_file_scope
register shared int x; // error@21: shared object 'x' cannot have automatic storage
//--- auto_file_scope
auto shared int x; // error@17: shared object 'x' cannot have automatic storage
//--- name_of_upc
int shared; // warning@5: 'shared' in an empty declaration; it is a word of UPC, not a name
void g(void) { int shared; } // warning@20: 'shared' in an empty declaration; it is a word of UPC, not a name
//--- implicit_int
shared [2] x[2*THREADS]; // warning@12: type defaults to 'int' in the declaration of 'x'
shared y; // warning@8: type defaults to 'int' in the declaration of 'y'
void g(void) { static shared z; } // warning@30: type defaults to 'int' in the declaration of 'z'
//--- member_of_union
union { int a; shared int x; } u; // error@27: structure member cannot be shared
union { int * shared p; } v; // error@22: structure member cannot be shared
//--- barrier_is_no_value
int g(void) { int x = upc_barrier; return x; } // error@23: expected an expression before 'upc_barrier'
//--- notify_and_wait
void g(void) { upc_notify upc_wait; } // error@27: expected an expression before 'upc_wait'
//--- fence_call
void g(void) { upc_fence; upc_fence(); } // error@36: expected ';' before '('
//--- affinity_continue_and_more
void g(void) { upc_forall (int i = 0; i < 3; i++; continue + 1) ; } // error@60: expected ')' before '+'
//--- threads_in_member
struct s { int a[THREADS]; }; // error@16: variably modified
//--- threads_in_case
int g(int x) { switch (x) { case THREADS: return 1; } return 0; } // error@29: case label does not reduce to an integer constant
//--- threads_in_assert
_Static_assert(THREADS > 0, "x"); // error@24: expression in static assertion is not constant
//--- threads_in_bitfield
struct s { int a : THREADS; }; // error@16: bit-field
//--- layout_twice
shared [3][4] int x[THREADS]; // error@11: expected a name before '['
//--- incomplete_later
shared struct s x; // error@17: shared object has incomplete type 'shared struct s'
struct s { int y; };
//--- star_size_in_block_static_ok
void g(void) { static shared [*] int a[3 * THREADS]; a[0] = 1; }
//--- array_of_functions
shared int (*f[THREADS])(void); // error@14: function returns shared type 'shared int' // error@14: size of private array 'f' at file scope depends on THREADS, which is dynamic; compile with -T=N
//--- excess_elements flags=-T=2
shared [2] int a[2] = { 1, 2, 3 }; // warning@31: excess elements in array initializer
