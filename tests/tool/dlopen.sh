# Programs that are not linked to the library open it while they run: plugins, Python, Julia, R.
. "$(dirname "$0")/t.bash"
lib=$BUILD_DIR/lib/libmpi_abi.so.0

# open LIB: opened and closed in each way, eight times, then used by a thread that is older than that.
cat >open.c <<'END'
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *lib;
static sem_t is_open;

static void *find(const char *name)
{
    void *f = dlsym(lib, name);
    if (f == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return f;
}
#define F(name) ((__typeof__(&name))find(#name))

static void *older(void *unused)
{
    while (sem_wait(&is_open) != 0) {
    }
    int is_set = -1, code = -1, len;
    char text[MPI_MAX_ERROR_STRING];
    F(MPI_Initialized)(&is_set);
    F(MPI_Error_class)(MPI_ERR_TRUNCATE, &code);
    F(MPI_Error_string)(MPI_ERR_TRUNCATE, text, &len);
    return is_set == 0 && code == MPI_ERR_TRUNCATE && len > 0 ? unused : NULL;
}

static void open_as(const char *path, int flags)
{
    lib = dlopen(path, flags);
    if (lib == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
}

// What reasons for errors are kept in belongs to the thread: this one reads its own.
static void use(void)
{
    int level, rank, size, sum = 0, one = 1, code, len;
    char text[MPI_MAX_ERROR_STRING] = "";
    F(MPI_Init_thread)(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    F(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    F(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    F(MPI_Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    F(MPI_Comm_set_errhandler)(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = F(MPI_Send)(&one, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    F(MPI_Error_string)(code, text, &len);
    printf("sum %d of %d, %s\n", sum, size, strstr(text, "rank") != NULL ? "reason" : text);
    fflush(stdout);
    F(MPI_Finalize)();
}

int main(int argc, char **argv)
{
    static const int ways[] = { RTLD_NOW, RTLD_NOW | RTLD_GLOBAL, RTLD_NOW | RTLD_LOCAL, RTLD_LAZY };
    pthread_t thread;
    void *was_right;
    sem_init(&is_open, 0, 0);
    pthread_create(&thread, NULL, older, &is_open);
    for (int i = 0; i < 8 * 4; i++) {
        open_as(argv[1], ways[i / 8]);
        if (dlclose(lib) != 0) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
    }
    open_as(argv[1], argc > 2 && strcmp(argv[2], "global") == 0 ? RTLD_NOW | RTLD_GLOBAL : RTLD_NOW);
    sem_post(&is_open);
    pthread_join(thread, &was_right);
    if (was_right == NULL) {
        fprintf(stderr, "an older thread got wrong answers\n");
        return 1;
    }
    if (argc > 2) {
        use();
        dlclose(lib);
    } else {
        puts("opened");
    }
    return 0;
}
END
cc -O1 -I"$BUILD_DIR/gen/include" -o open open.c -pthread -ldl
if is_sanitized; then
    echo "skipped: a sanitizer's library must come first in a program" >&2
    exit 77
fi
ldd ./open | grep -q libmpi && fail "the program is linked to the library"

must_say '^opened' ./open "$lib"
# A loader that has no static thread-local memory to spare, as after many other libraries.
must_say '^opened' env GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0 ./open "$lib"
for i in 1 2 3 4 5 6 7 8; do
    way=local
    [ $((i % 2)) = 0 ] && way=global
    must_say '^sum 1 of 1, reason' ./open "$lib" "$way"
done
must_say '^sum 2 of 2, reason' mpiexec -n 2 ./open "$lib" local
must_say '^sum 2 of 2, reason' mpiexec -n 2 ./open "$lib" global

if command -v python3 >/dev/null; then
    cat >use.py <<'END'
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
world, integer, total = ctypes.c_void_p(int(sys.argv[2])), ctypes.c_void_p(int(sys.argv[3])), \
    ctypes.c_void_p(int(sys.argv[4]))
one, result = ctypes.c_int(1), ctypes.c_int(0)
assert mpi.MPI_Init(None, None) == 0
assert mpi.MPI_Allreduce(ctypes.byref(one), ctypes.byref(result), 1, integer, total, world) == 0
print("python sum", result.value, flush=True)
assert mpi.MPI_Finalize() == 0
END
    cat >handles.c <<'END'
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
int main(void)
{
    printf("%zu %zu %zu\n", (size_t)(uintptr_t)MPI_COMM_WORLD, (size_t)(uintptr_t)MPI_INT,
           (size_t)(uintptr_t)MPI_SUM);
    return 0;
}
END
    cc -I"$BUILD_DIR/gen/include" -o handles handles.c
    must_say '^python sum 1' python3 use.py "$lib" $(./handles)
    must_say '^python sum 2' mpiexec -n 2 python3 use.py "$lib" $(./handles)
fi

# No object of the library may ask for thread-local memory that only the start of a program gives.
if command -v readelf >/dev/null; then
    for so in "$BUILD_DIR"/lib/*.so; do
        # ('tprel' of aarch64, 'tpoff' of x86-64)
        bad=$(readelf -rW "$so" | grep -ciE 'R_[A-Z0-9_]*(TPREL|TPOFF)' || true)
        [ "$bad" -eq 0 ] || fail "$so has $bad thread-local variables of the initial-exec model"
    done
fi
