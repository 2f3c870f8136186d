// SPDX-License-Identifier: BSD-3-Clause
// libmpi_java.so, which a Java virtual machine loads for Open MPI's classes. The native methods are
// those of the installed libmpi_java.so.40, which this library needs, above our libmpi.so.40. Of
// the installed libopen-pal.so.40 they use lists and classes; what would need a started Open MPI is
// here.
#include <mpi.h>
#include <stdlib.h>

void ompi_java_errors(void); // of our libmpi.so.40
int opal_datatype_copy_content_same_ddt(const void *type, int count, char *to, char *from);
int mca_base_var_register(void);

__attribute__((constructor)) static void begin(void)
{
    ompi_java_errors();
}

// Copy elements of a type with gaps, and not the gaps.
int opal_datatype_copy_content_same_ddt(const void *type, int count, char *to, char *from)
{
    MPI_Datatype t = (MPI_Datatype)(uintptr_t)type;
    MPI_Count size = 0, filled = 0, taken = 0;
    if (PMPI_Pack_size_c(count, t, MPI_COMM_SELF, &size) != MPI_SUCCESS) {
        return -1;
    }
    char *packed = malloc((size_t)size + 1);
    int err = packed == NULL ? MPI_ERR_NO_MEM
                             : PMPI_Pack_c(from, count, t, packed, size, &filled, MPI_COMM_SELF);
    if (err == MPI_SUCCESS) {
        err = PMPI_Unpack_c(packed, filled, &taken, to, count, t, MPI_COMM_SELF);
    }
    free(packed);
    return err == MPI_SUCCESS ? 0 : -1;
}

// A setting of the bindings, which keeps its default: up to which size a buffer is kept for reuse.
int mca_base_var_register(void)
{
    return 0;
}
