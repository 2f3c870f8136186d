//--- assert_type
#include <upc.h>
shared [3] int a[3 * THREADS];
int x;
int main(void)
{
    bupc_assert_type(a[0], shared [3] int);
    bupc_assert_type(&a[0], shared int *); // error: bupc_assert_type: the type is 'shared [3] int *', not 'shared int *'
    bupc_assert_type(x, shared int); // error: the type is 'int', not 'shared int'
    bupc_assert_type(x, long); // error: the type is 'int', not 'long'
    bupc_assert_type((a[0], x), int);
    return 0;
}
