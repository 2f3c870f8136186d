//--- dynamic_without_threads
shared int x[10]; // error@12: needs THREADS in one dimension
//--- dynamic_without_threads_2d
shared [2] int x[4][4]; // error@16: needs THREADS in one dimension
//--- dynamic_sum
shared int x[10+THREADS]; // error@12: only be multiplied by a positive constant
//--- dynamic_difference
shared int x[10*THREADS-1]; // error@12: only be multiplied by a positive constant
//--- dynamic_square
shared int x[THREADS*THREADS]; // error@12: only be multiplied by a positive constant
//--- dynamic_two_dims
shared int x[THREADS][4*THREADS]; // error@12: more than one dimension
//--- dynamic_quotient
shared int x[THREADS/2]; // error@12: only be multiplied by a positive constant
//--- dynamic_zero_factor
shared int x[0*THREADS]; // error@12: only be multiplied by a positive constant
//--- dynamic_negative_factor
shared int x[-2*THREADS]; // error@12: only be multiplied by a positive constant
//--- dynamic_cast
shared int x[(long)THREADS]; // error@12: only be multiplied by a positive constant
//--- dynamic_indefinite_threads
shared [] int x[THREADS]; // error@15: indefinite block size needs static THREADS
//--- dynamic_star_without_threads
shared [*] int x[10]; // error@16: needs THREADS in one dimension
//--- dynamic_ok
#define N 20
shared int a[10*THREADS];
shared int b[THREADS*(100*20)];
shared [] int c[10];
shared [3] int d[2][5*THREADS];
shared [*] int e[7*THREADS];
shared int f[THREADS*100*20];
shared int g[(5*7)*THREADS];
shared int h[N][THREADS];
shared [N] double i[THREADS][N];
extern shared int j[];
shared int k[THREADS];
//--- dynamic_static_scope
void f(void) { static shared int x[4]; } // error@34: needs THREADS in one dimension
//--- dynamic_extern_sized
extern shared int x[4]; // error@19: needs THREADS in one dimension
//--- dynamic_pointer_target_two
shared int (**p)[THREADS][THREADS]; // error@15: more than one dimension
//--- dynamic_pointer_target_ok
shared int (*p)[4];
shared int (*q)[THREADS];
//--- dynamic_typedef_twice
typedef shared int R[THREADS];
R x[THREADS]; // error@3: more than one dimension
//--- dynamic_typedef_once_ok
typedef shared int R[4];
R x[THREADS];
//--- static_ok flags=-T=4
#define N 8
shared int a[10], b[10+THREADS], c[THREADS][4*THREADS], d[THREADS*THREADS];
shared [] int e[THREADS];
shared [N*N/THREADS] double A[N][N];
shared int (**p)[THREADS][THREADS];
//--- vla
void f(int n) { static shared int a[n]; } // error@35: variable length array of shared type
//--- vla_pointer_static
void f(int n) { static shared int (*p)[n]; } // error@37: must be an automatic variable or a parameter of a prototype
//--- vla_pointer_extern
void f(int n) { extern shared int (*p)[n]; } // error@37: must be an automatic variable or a parameter of a prototype
//--- vla_pointer_file_scope
int n;
shared int (*p)[n]; // error@14: must be an automatic variable or a parameter of a prototype
//--- vla_member
void f(int n) { struct s { shared int (*p)[n]; }; } // error@41: must be an automatic variable or a parameter of a prototype
//--- vla_cast_with_effect
int f(int n, shared int *a) { return ((shared int (*)[n++])a)[1][2]; } // error@40: must not have side effects
//--- vla_open_definition
int f(int n, shared int a[][*]) { return a[1][n]; } // error@25: '[*]' in the parameters of a function definition
//--- vla_pointer_ok
int f(int n, shared int a[][*]);
int f(int n, shared int a[][n]) { shared int (*p)[n] = a + 1; return p[0][0]; }
//--- negative_size
shared [] int a[-1]; // error@17: size of array is negative
//--- private_file_scope_threads
int n[THREADS]; // error@5: depends on THREADS
//--- private_file_scope_threads_static flags=-T=3
int n[THREADS];
struct S { int m[THREADS]; };
//--- private_block_scope_threads_ok
void f(void) { int n[THREADS]; n[0] = 1; }
//--- enum_threads_dynamic
enum { N = THREADS }; // error@12: not a constant expression
//--- enum_threads_static flags=-T=3
enum { N = THREADS };
//--- init_inner_threads
shared int a[2][THREADS] = { { 1 }, { 2 } }; // error@12: inner dimension
//--- conflicting_block
extern shared [2] int a[4*THREADS];
shared [4] int a[4*THREADS]; // error@16: conflicting types for 'a'
//--- conflicting_shared
extern int a;
shared int a; // error@12: conflicting types for 'a'
//--- conflicting_length
extern shared int a[2*THREADS];
shared int a[3*THREADS]; // error@12: conflicting types for 'a'
//--- conflicting_pointer
shared int *p;
extern shared [] int *p; // error@23: conflicting types for 'p'
//--- compatible_redeclaration_ok
extern shared int a[];
extern shared [1] int a[THREADS];
shared int a[THREADS];
extern shared [] int *p;
shared [0] int *p;
//--- conflicting_function
void f(shared int *p);
void f(shared [] int *p); // error@6: conflicting types for 'f'
//--- dynamic_parameter_row_two
void f(shared int a[][THREADS][THREADS]); // error@19: more than one dimension
//--- dynamic_parameter_ok
void f(shared int a[][THREADS], shared [4] int b[][4]);
//--- dynamic_cast_two
long f(shared void *p) { return sizeof *(shared int (*)[THREADS][THREADS])p; } // error@42: more than one dimension
//--- dynamic_sizeof_two
long f(void) { return sizeof(shared int[THREADS][THREADS]); } // error@30: more than one dimension
//--- dynamic_pointer_sum
shared int (*p)[THREADS + 1]; // error@14: only be multiplied by a positive constant
//--- dynamic_pointer_indefinite
shared [] int (*p)[THREADS]; // error@17: indefinite block size needs static THREADS
//--- dynamic_expression_hidden
enum { N = 3 };
shared int a[N + 2][THREADS % 2]; // error@12: only be multiplied by a positive constant
//--- dynamic_shift
shared int a[THREADS << 1]; // error@12: only be multiplied by a positive constant
//--- dynamic_unary_minus
shared int a[-THREADS]; // error@12: only be multiplied by a positive constant
//--- dynamic_multi_declarator
shared int a[THREADS], b[7], c[THREADS]; // error@24: needs THREADS in one dimension
//--- vla_parameter_old
int n;
int f(a) shared int (*a)[n]; { return a[1][0]; } // error@23: must be an automatic variable or a parameter of a prototype
//--- vla_adjusted_parameter_ok
void f(int n, shared int a[n]);
//--- vla_typedef
void f(int n) { typedef shared int T[n]; static T a; } // error@51: variable length array of shared type
//--- static_zero_threads_factor flags=-T=2
shared int a[-THREADS]; // error@14: size of array is negative
//--- incomplete_element
struct I;
shared struct I a[THREADS]; // error@17: incomplete
//--- incomplete_row
shared int a[THREADS][]; // error@12: array of incomplete type 'shared int []'
typedef int row[];
shared row b[THREADS]; // error@12: array of incomplete type 'shared int []'
//--- incomplete_first_dimension_ok
extern shared int a[][THREADS];
void f(shared int b[][3]);
//--- conflicting_threads_factor
extern shared int a[THREADS];
shared int a[2*THREADS]; // error@12: conflicting types for 'a'
//--- conflicting_strict
extern strict shared int a;
shared int a; // error@12: conflicting types for 'a'
//--- conflicting_return
shared int *f(void);
shared [4] int *f(void); // error@17: conflicting types for 'f'
