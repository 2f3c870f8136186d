//--- strict_without_shared
strict int x; // error@1: 'strict' without 'shared'
//--- relaxed_without_shared
relaxed int x; // error@1: 'relaxed' without 'shared'
//--- strict_in_pointer_quals
int * strict p; // error@7: 'strict' or 'relaxed' without 'shared'
//--- strict_and_relaxed
shared strict relaxed int x; // error@15: both 'strict' and 'relaxed'
//--- strict_and_relaxed_typedef
typedef strict shared int S;
relaxed S x; // error@1: both 'strict' and 'relaxed'
//--- strict_through_typedef_ok
typedef shared int S;
strict S x;
//--- relaxed_pointer_target_ok
relaxed shared int *p;
shared int * relaxed shared q;
//--- two_block_sizes
shared [2] shared [3] int a[6*THREADS]; // error@12: more than one block size
//--- same_block_size_twice_ok
shared [2] shared [2] int a[6*THREADS];
//--- plain_and_explicit_ok
shared shared [2] int a[6*THREADS];
//--- block_size_conflict_typedef
typedef shared [4] int T4;
shared [2] T4 c[4*THREADS]; // error@1: block size conflicts
//--- block_size_plain_over_typedef_ok
typedef shared [4] int T4;
shared T4 c[4*THREADS];
//--- block_size_over_plain_typedef_ok
typedef shared int T;
shared [4] T c[4*THREADS];
_Static_assert(upc_blocksizeof(c) == 4, "");
//--- two_block_sizes_pointer
int * shared [2] shared [3] p[6*THREADS]; // error@18: more than one block size
//--- block_size_not_constant
int n;
shared [n] int a[4*THREADS]; // error@9: not an integer constant
//--- block_size_threads_dynamic
shared [THREADS] int a[4*THREADS]; // error@9: THREADS in a block size needs static THREADS
//--- block_size_threads_static flags=-T=4
shared [THREADS] int a[4*THREADS];
//--- block_size_negative
shared [-1] int a[4*THREADS]; // error@9: block size is negative
//--- block_size_too_big
shared [UPC_MAX_BLOCK_SIZE + 1] int a[4*THREADS]; // error@28: exceeds UPC_MAX_BLOCK_SIZE
//--- block_size_max_ok
shared [UPC_MAX_BLOCK_SIZE] int a[THREADS];
//--- block_size_float
shared [1.5] int a[4*THREADS]; // error@9: not an integer constant
//--- block_size_string
shared ["x"] int a[4*THREADS]; // error@9: not an integer constant
//--- star_too_big
shared [*] char a[2000000*THREADS]; // error@17: exceeds UPC_MAX_BLOCK_SIZE
//--- star_in_pointer
shared [*] int *p; // error@17: block size [*] in a pointer type
//--- star_in_pointer_to_array
shared [*] int (*p)[4]; // error@18: block size [*] in a pointer type
//--- star_in_typedef
typedef shared [*] int T[4*THREADS]; // error@24: block size [*] in a typedef
//--- star_incomplete
extern shared [*] int a[]; // error@23: block size [*] of an incomplete array
//--- star_cast
void *f(shared int *p) { return (void *)(shared [*] int *)p; } // error@42: block size [*] in a pointer type
//--- layout_void_pointer
shared [2] void *p; // error@18: layout qualifier on a pointer to 'shared void'
//--- layout_void_pointer_indefinite
shared [] void *p; // error@17: layout qualifier on a pointer to 'shared void'
//--- layout_void_parameter
void f(shared [4] void *p); // error@25: layout qualifier on a pointer to 'shared void'
//--- member_shared
struct S { shared int x; }; // error@23: structure member cannot be shared
//--- member_shared_pointer
struct S { int * shared p; }; // error@25: structure member cannot be shared
//--- member_pointer_to_shared_ok
struct S { shared int *p; shared [] int *q[3]; };
//--- member_shared_array
struct S { shared [] int a[4]; }; // error@26: structure member cannot be shared
//--- member_shared_bitfield
struct S { shared int b : 3; }; // error@23: structure member cannot be shared
//--- member_shared_typedef
typedef shared int T;
union U { T x; }; // error@13: structure member cannot be shared
//--- auto_shared
void f(void) { shared int x; } // error@27: cannot have automatic storage
//--- auto_shared_array
void f(void) { shared [] int x[4]; } // error@30: cannot have automatic storage
//--- auto_shared_pointer_object
void f(void) { int * shared x; } // error@29: cannot have automatic storage
//--- auto_shared_for
void f(void) { for (shared int i = 0; ; ) ; } // error@32: cannot have automatic storage
//--- register_shared
void f(void) { register shared int x; } // error@36: cannot have automatic storage
//--- block_static_extern_ok
void f(void) { static shared int x; extern shared int y; static shared int z[THREADS]; }
//--- parameter_shared
void f(shared int x); // error@19: parameter of shared type
//--- parameter_shared_definition
void f(shared int x) { } // error@19: parameter of shared type
//--- parameter_shared_oldstyle
void f(x) shared int x; { } // error@22: parameter of shared type
//--- parameter_array_ok
void f(shared [4] int a[], shared int b[THREADS], shared [2] int c[][4]);
//--- returns_shared
shared int f(void); // error@12: function returns shared type
//--- returns_shared_typedef
typedef shared int T;
T f(void); // error@3: function returns shared type
//--- returns_pts_ok
shared int *f(void);
//--- function_shared
typedef int F(void);
shared F f; // error@1: function type cannot be shared
//--- thread_local_shared
static __thread shared int x; // error@28: cannot be thread-local
//--- void_object
shared void x; // error@13: object of type 'shared void'
//--- cast_to_shared
int f(int x) { return (shared int)x; } // error@23: cast to shared type
//--- compound_literal_shared
int f(void) { return ((shared int){1}); } // error@23: compound literal of shared type
//--- scalar_layout_ok
shared [3] int y;
shared struct S { int a; } s;
shared union U { int a; float b; } u;
shared enum E { A, B } e;
shared const volatile int cv;
shared struct Incomplete *pi;
//--- strict_relaxed_pointer_quals
int * shared strict relaxed p; // error@21: both 'strict' and 'relaxed'
//--- strict_in_member
struct S { strict int x; }; // error@12: 'strict' without 'shared'
//--- strict_in_cast
int f(int *p) { return *(strict int *)p; } // error@26: 'strict' without 'shared'
//--- relaxed_in_parameter
void f(relaxed int *p); // error@8: 'relaxed' without 'shared'
//--- strict_over_private_typedef
typedef int T;
strict T x; // error@1: 'strict' without 'shared'
//--- strict_twice_ok
strict strict shared int x;
//--- two_block_sizes_cast
void f(shared int *p) { (void)(shared [2] shared [4] int *)p; } // error@43: more than one block size
//--- two_block_sizes_indefinite
shared [] shared [1] int *p; // error@11: more than one block size
//--- block_size_conflict_pointer_typedef
typedef shared [4] int T4;
shared [] T4 *p; // error@1: block size conflicts
//--- block_size_conflict_array_typedef
typedef shared [4] int R[4];
shared [2] R a[THREADS]; // error@1: block size conflicts
//--- block_size_zero_is_indefinite_ok
shared [0] int a[4];
shared [] int *p = a;
_Static_assert(upc_blocksizeof(a) == 0, "");
//--- block_size_enum_ok
enum { B = 3 };
shared [B] int a[B*THREADS];
shared [sizeof(int)] int b[THREADS];
//--- block_size_const_object
const int n = 4;
shared [n] int a[4*THREADS]; // error@9: not an integer constant
//--- block_size_call
int g(void);
shared [g()] int a[4*THREADS]; // error@10: not an integer constant
//--- block_size_huge
shared [1 << 30] int a[THREADS]; // error@11: exceeds UPC_MAX_BLOCK_SIZE
//--- block_size_pointer_too_big
shared [UPC_MAX_BLOCK_SIZE + 1] int *p; // error@28: exceeds UPC_MAX_BLOCK_SIZE
//--- block_size_threads_pointer
shared [2*THREADS] int *p; // error@10: THREADS in a block size needs static THREADS
//--- star_static_too_big flags=-T=2
shared [*] char a[3000000]; // error@17: exceeds UPC_MAX_BLOCK_SIZE
//--- star_parameter
void f(shared [*] int a[]); // error@23: block size [*] in a pointer type
//--- star_return
shared [*] int *f(void); // error@17: block size [*] in a pointer type
//--- star_sizeof
unsigned long n = sizeof(shared [*] int *); // error@26: block size [*] in a pointer type
//--- star_typedef_scalar
typedef shared [*] int T; // error@24: block size [*] in a typedef
//--- star_scalar_ok
shared [*] int z;
_Static_assert(upc_blocksizeof(z) == 1, "");
//--- star_completed_ok flags=-T=2
shared [*] int a[] = { 1, 2, 3 };
_Static_assert(upc_blocksizeof(a) == 2, "");
//--- layout_void_return
shared [2] void *f(void); // error@18: layout qualifier on a pointer to 'shared void'
//--- layout_void_cast
void f(shared int *p) { (void)(shared [] void *)p; } // error@32: layout qualifier on a pointer to 'shared void'
//--- layout_void_typedef
typedef shared [2] void V;
V *p; // error@4: layout qualifier on a pointer to 'shared void'
//--- layout_void_member
struct S { shared [3] void *p; }; // error@29: layout qualifier on a pointer to 'shared void'
//--- member_shared_nested
struct S { struct { shared int x; } in; }; // error@32: structure member cannot be shared
//--- member_shared_array_of_pointers
struct S { int * shared p[3]; }; // error@25: structure member cannot be shared
//--- member_second_declarator
struct S { int a, * shared p; }; // error@28: structure member cannot be shared
//--- auto_shared_typedef
typedef shared int T;
void f(void) { T x; } // error@18: cannot have automatic storage
//--- auto_shared_struct
struct S { int a; };
void f(void) { shared struct S s; } // error@32: cannot have automatic storage
//--- auto_second_declarator
void f(void) { int a, * shared b; } // error@32: cannot have automatic storage
//--- parameter_shared_pointer_object
void f(int * shared p); // error@21: parameter of shared type
//--- parameter_shared_struct
struct S { int a; };
void f(shared struct S s); // error@24: parameter of shared type
//--- parameter_shared_typedef
typedef shared int T;
void f(T x); // error@10: parameter of shared type
//--- parameter_of_pointer_to_function
void (*f)(shared int x); // error@22: parameter of shared type
//--- returns_shared_struct
struct S { int a; };
shared struct S f(void); // error@17: function returns shared type
//--- returns_shared_pointer_object
int * shared f(void); // error@14: function returns shared type
//--- pointer_to_function_returns_shared
shared int (*f)(void); // error@14: function returns shared type
//--- function_shared_pointer_target
typedef int F(void);
shared F *f; // error@1: function type cannot be shared
//--- cast_to_shared_struct
struct S { int a; } s;
int f(void) { return ((shared struct S)s).a; } // error@23: cast to shared type
//--- cast_to_shared_void
void f(int x) { (shared void)x; } // error@17: cast to shared type
//--- compound_literal_shared_array
int f(void) { return ((shared [] int[]){1, 2})[0]; } // error@23: compound literal of shared type
