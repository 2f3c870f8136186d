// SPDX-License-Identifier: BSD-3-Clause
// Time, versions, memory, the ABI's questions, handles as integers.
#include "obj.h"

#include <unistd.h>

static void times(void)
{
    double a = MPI_Wtime(), tick = MPI_Wtick();
    usleep(20000);
    double b = MPI_Wtime();
    T_OK(b - a >= 0.019 && b - a < 60);
    T_OK(tick > 0 && tick < 1e-3);
}

static void versions(void)
{
    int a, b, len;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], host[256], name[MPI_MAX_PROCESSOR_NAME];
    T_MPI(MPI_Get_version(&a, &b));
    T_EQ(a, 5);
    T_EQ(b, 0);
    T_MPI(MPI_Get_library_version(text, &len));
    T_HAS(text, "Pliant MPI");
    T_EQ(len, strlen(text));
    T_MPI(MPI_Get_processor_name(name, &len));
    T_EQ(gethostname(host, sizeof host), 0);
    T_STR(name, host);
    T_EQ(len, strlen(name));
    T_MPI(MPI_Abi_get_version(&a, &b));
    T_EQ(a, 1);
    T_EQ(b, 0);
    T_MPI(MPI_Pcontrol(1, "anything"));
    T_REFUSED(MPI_Get_version(NULL, &b), MPI_ERR_ARG, "version is NULL");
}

static void memory(void)
{
    MPI_Info info;
    char *p = NULL;
    T_MPI(MPI_Alloc_mem(100, MPI_INFO_NULL, &p));
    T_OK(p != NULL && (uintptr_t)p % 64 == 0);
    memset(p, 1, 100);
    T_MPI(MPI_Free_mem(p));
    T_MPI(MPI_Alloc_mem(0, MPI_INFO_NULL, &p));
    T_MPI(MPI_Free_mem(p));
    static const int sizes[] = { 16 << 20, 1 << 20, (4 << 20) - 1, 1 << 19 };
    char *q[4];
    for (int i = 0; i < 4; i++) {
        T_MPI(MPI_Alloc_mem(sizes[i], MPI_INFO_NULL, &q[i]));
        memset(q[i], i, (size_t)sizes[i]);
    }
    for (int i = 0; i < 4; i++) {
        T_OK(q[i][0] == i && q[i][sizes[i] - 1] == i);
        T_MPI(MPI_Free_mem(q[i]));
    }
    T_MPI(MPI_Info_create(&info));
    T_MPI(MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536"));
    T_MPI(MPI_Alloc_mem(10, info, &p));
    T_EQ((uintptr_t)p % 65536, 0);
    T_MPI(MPI_Free_mem(p));
    T_MPI(MPI_Info_set(info, "mpi_minimum_memory_alignment", "100"));
    T_REFUSED(MPI_Alloc_mem(10, info, &p), MPI_ERR_INFO_VALUE, "100");
    T_MPI(MPI_Info_free(&info));
    T_REFUSED(MPI_Alloc_mem(-1, MPI_INFO_NULL, &p), MPI_ERR_ARG, "size is -1");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they end the program
    T_REFUSED(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &p), MPI_ERR_NO_MEM, "allocate");
#endif
    T_REFUSED(MPI_Alloc_mem(10, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "baseptr");
    MPI_Aint a, b;
    int x[2];
    T_MPI(MPI_Get_address(&x[0], &a));
    T_MPI(MPI_Get_address(&x[1], &b));
    T_OK(a == (MPI_Aint)(uintptr_t)&x[0]);
    T_EQ(MPI_Aint_diff(b, a), sizeof(int));
    T_OK(MPI_Aint_add(a, sizeof(int)) == b);
}

static void abi(void)
{
    MPI_Info info, copy;
    char value[8];
    int flag, yes = 1, no = 0, a = 9, b = 9;
    T_MPI(MPI_Abi_get_info(&info));
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = { "mpi_aint_size", "mpi_count_size", "mpi_offset_size" };
        T_MPI(MPI_Info_get(info, keys[i], 7, value, &flag));
        T_EQ(flag, 1);
        T_STR(value, "8");
    }
    T_MPI(MPI_Abi_get_fortran_info(&copy));
    T_OK(copy == MPI_INFO_NULL);
    T_MPI(MPI_Abi_set_fortran_info(info));
    T_REFUSED(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI, "before");
    T_REFUSED(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO, "MPI_INFO_NULL");
    T_MPI(MPI_Abi_get_fortran_info(&copy));
    T_OK(copy != MPI_INFO_NULL && copy != info);
    T_MPI(MPI_Info_free(&copy));
    T_MPI(MPI_Info_free(&info));
    T_MPI(MPI_Abi_get_fortran_booleans(4, &a, &b, &flag));
    T_EQ(flag, 0);
    T_EQ(a, 9);
    T_MPI(MPI_Abi_set_fortran_booleans(4, &yes, &no));
    T_REFUSED(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI, "before");
    T_REFUSED(MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG, "3");
    T_REFUSED(MPI_Abi_set_fortran_booleans(8, NULL, &no), MPI_ERR_ARG, "logical_true");
    T_MPI(MPI_Abi_get_fortran_booleans(4, &a, &b, &flag));
    T_EQ(flag, 1);
    T_EQ(a, 1);
    T_EQ(b, 0);
}

static void handles(void)
{
    MPI_Info info, stale;
    MPI_Group g;
    T_OK(T_IS_ENDPOINT || MPI_Comm_toint(MPI_COMM_WORLD) == 0x101);
    T_OK(T_IS_ENDPOINT || MPI_Comm_fromint(0x101) == MPI_COMM_WORLD);
    T_OK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    T_OK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF);
    T_OK(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE);
    T_OK(MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT);
    T_OK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    T_OK(MPI_Op_f2c(MPI_Op_c2f(MPI_MAX)) == MPI_MAX);
    T_OK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    T_OK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_ABORT)) == MPI_ERRORS_ABORT);
    T_OK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    T_OK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    T_OK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    T_OK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
    T_OK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    T_OK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
    T_OK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    T_OK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
    T_OK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    T_OK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    T_MPI(MPI_Info_create(&info));
    T_OK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
    T_OK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
    stale = info;
    T_MPI(MPI_Info_free(&info));
    T_OK(MPI_Info_toint(stale) > 0);
    T_MPI(MPI_Comm_group(MPI_COMM_WORLD, &g));
    T_OK(MPI_Group_fromint(MPI_Group_toint(g)) == g);
    T_OK(MPI_Group_f2c(MPI_Group_c2f(g)) == g);
    T_MPI(MPI_Group_free(&g));
    T_OK(MPI_Comm_fromint(-5) == MPI_COMM_NULL);
    T_OK(MPI_Comm_fromint(2000000000) == MPI_COMM_NULL);
    T_OK(MPI_Group_f2c(2000000000) == MPI_GROUP_NULL);
    T_EQ(MPI_Comm_toint((MPI_Comm)&g), -1);
}

static void statuses(void)
{
    MPI_Status a = { .MPI_SOURCE = 3, .MPI_TAG = 4, .MPI_ERROR = 5 }, b;
    MPI_Fint f[MPI_F_STATUS_SIZE];
    memset(&b, 0, sizeof b);
    T_MPI(MPI_Status_c2f(&a, f));
    T_EQ(f[MPI_F_SOURCE], 3);
    T_EQ(f[MPI_F_TAG], 4);
    T_EQ(f[MPI_F_ERROR], 5);
    T_MPI(MPI_Status_f2c(f, &b));
    T_EQ(memcmp(&a, &b, sizeof a), 0);
    T_REFUSED(MPI_Status_c2f(MPI_STATUS_IGNORE, f), MPI_ERR_ARG, "MPI_STATUS_IGNORE");
    T_REFUSED(MPI_Status_c2f(&a, NULL), MPI_ERR_ARG, "f_status");
    T_REFUSED(MPI_Status_f2c(NULL, &a), MPI_ERR_ARG, "f_status");
    T_REFUSED(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &a), MPI_ERR_ARG, "MPI_F_STATUS_IGNORE");
    T_REFUSED(MPI_Status_f2c(MPI_F_STATUSES_IGNORE, &a), MPI_ERR_ARG, "MPI_F_STATUSES_IGNORE");
    MPI_F08_status f08;
    T_MPI(MPI_Status_c2f08(&a, &f08));
    T_EQ(f08.MPI_TAG, 4);
    memset(f, 0, sizeof f);
    T_MPI(MPI_Status_f082f(&f08, f));
    T_EQ(f[MPI_F_ERROR], 5);
    f[MPI_F_SOURCE] = 33;
    T_MPI(MPI_Status_f2f08(f, &f08));
    T_EQ(f08.MPI_SOURCE, 33);
    T_MPI(MPI_Status_f082c(&f08, &b));
    T_EQ(b.MPI_SOURCE, 33);
    T_EQ(b.MPI_TAG, 4);
    T_OK(MPI_F08_STATUS_IGNORE != NULL && MPI_F08_STATUS_IGNORE != MPI_F08_STATUSES_IGNORE);
    T_REFUSED(MPI_Status_f082c(MPI_F08_STATUS_IGNORE, &b), MPI_ERR_ARG, "MPI_F08_STATUS_IGNORE");
    T_REFUSED(MPI_Status_f082f(MPI_F08_STATUSES_IGNORE, f), MPI_ERR_ARG, "MPI_F08_STATUSES_IGNORE");
    T_REFUSED(MPI_Status_f2f08(MPI_F_STATUS_IGNORE, &f08), MPI_ERR_ARG, "MPI_F_STATUS_IGNORE");
    T_REFUSED(MPI_Status_c2f08(MPI_STATUS_IGNORE, &f08), MPI_ERR_ARG, "MPI_STATUS_IGNORE");
}

int main(int argc, char **argv)
{
    int a, b;
    T_MPI(MPI_Get_version(&a, &b)); // before initialisation
    T_MPI(MPI_Abi_get_version(&a, &b));
    T_OK(MPI_Wtime() > 0);
    t_start(&argc, &argv);
    times();
    versions();
    memory();
    abi();
    handles();
    statuses();
    return t_end();
}
