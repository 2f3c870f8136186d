// SPDX-License-Identifier: BSD-3-Clause
// Info objects: every function, the limits, MPI_INFO_ENV, and use before MPI_Init.
#include "obj.h"

static void basics(void)
{
    MPI_Info info, copy;
    char value[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY];
    int n, flag, len;
    T_MPI(MPI_Info_create(&info));
    T_MPI(MPI_Info_set(info, "one", "1"));
    T_MPI(MPI_Info_set(info, "two", "zwei"));
    T_MPI(MPI_Info_set(info, "three", ""));
    T_MPI(MPI_Info_set(info, "one", "eins"));
    T_MPI(MPI_Info_get_nkeys(info, &n));
    T_EQ(n, 3);
    T_MPI(MPI_Info_get_nthkey(info, 0, key));
    T_STR(key, "one");
    T_MPI(MPI_Info_get_nthkey(info, 2, key));
    T_STR(key, "three");
    T_MPI(MPI_Info_get(info, "one", 10, value, &flag));
    T_EQ(flag, 1);
    T_STR(value, "eins");
    memset(value, 'x', sizeof value);
    T_MPI(MPI_Info_get(info, "one", 2, value, &flag));
    T_STR(value, "ei");
    T_EQ(value[3], 'x');
    T_MPI(MPI_Info_get_valuelen(info, "two", &len, &flag));
    T_EQ(len, 4);
    T_MPI(MPI_Info_get_valuelen(info, "four", &len, &flag));
    T_EQ(flag, 0);
    len = 0;
    T_MPI(MPI_Info_get_string(info, "two", &len, NULL, &flag));
    T_EQ(len, 5);
    len = 3;
    T_MPI(MPI_Info_get_string(info, "two", &len, value, &flag));
    T_EQ(len, 5);
    T_STR(value, "zw");
    len = 7;
    T_MPI(MPI_Info_get_string(info, "four", &len, value, &flag));
    T_EQ(flag, 0);
    T_EQ(len, 7);
    T_STR(value, "zw");
    T_MPI(MPI_Info_dup(info, &copy));
    T_MPI(MPI_Info_delete(info, "one"));
    T_MPI(MPI_Info_get_nthkey(info, 0, key));
    T_STR(key, "two");
    T_MPI(MPI_Info_get_nkeys(copy, &n));
    T_EQ(n, 3);
    T_MPI(MPI_Info_free(&info));
    T_OK(info == MPI_INFO_NULL);
    T_MPI(MPI_Info_get(copy, "one", 10, value, &flag));
    T_STR(value, "eins");
    T_MPI(MPI_Info_free(&copy));
}

static void many(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL + 1];
    int flag;
    T_MPI(MPI_Info_create(&info));
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof key, "key%d", i);
        T_MPI(MPI_Info_set(info, key, key + 3));
    }
    T_MPI(MPI_Info_get(info, "key321", 10, value, &flag));
    T_STR(value, "321");
    memset(key, 'k', sizeof key);
    key[MPI_MAX_INFO_KEY - 1] = '\0';
    memset(value, 'v', sizeof value);
    value[MPI_MAX_INFO_VAL - 1] = '\0';
    T_MPI(MPI_Info_set(info, key, value));
    memset(value, 'v', sizeof value);
    value[MPI_MAX_INFO_VAL] = '\0';
    T_REFUSED(MPI_Info_set(info, key, value), MPI_ERR_INFO_VALUE, "MPI_MAX_INFO_VAL");
    T_MPI(MPI_Info_free(&info));
}

static void mistakes(void)
{
    MPI_Info info, stale;
    char big[300], value[10];
    int n, flag;
    memset(big, 'k', sizeof big);
    big[256] = '\0';
    T_MPI(MPI_Info_create(&info));
    T_REFUSED(MPI_Info_set(info, big, "v"), MPI_ERR_INFO_KEY, "MPI_MAX_INFO_KEY");
    T_REFUSED(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY, "empty");
    T_REFUSED(MPI_Info_set(info, NULL, "v"), MPI_ERR_INFO_KEY, "NULL");
    T_REFUSED(MPI_Info_set(info, "k", NULL), MPI_ERR_INFO_VALUE, "NULL");
    T_REFUSED(MPI_Info_delete(info, "nobody"), MPI_ERR_INFO_NOKEY, "nobody");
    T_REFUSED(MPI_Info_get_nthkey(info, 0, value), MPI_ERR_ARG, "empty");
    T_MPI(MPI_Info_set(info, "k", "v"));
    T_REFUSED(MPI_Info_get_nthkey(info, 1, value), MPI_ERR_ARG, "n is 1");
    T_REFUSED(MPI_Info_get_nthkey(info, -1, value), MPI_ERR_ARG, "n is -1");
    T_REFUSED(MPI_Info_get(info, "k", -1, value, &flag), MPI_ERR_ARG, "valuelen is -1");
    T_REFUSED(MPI_Info_get(info, "k", 9, NULL, &flag), MPI_ERR_ARG, "value is NULL");
    T_REFUSED(MPI_Info_get(info, "k", 9, value, NULL), MPI_ERR_ARG, "flag is NULL");
    T_REFUSED(MPI_Info_get_string(info, "k", NULL, value, &flag), MPI_ERR_ARG, "buflen");
    T_REFUSED(MPI_Info_get_nkeys(MPI_INFO_NULL, &n), MPI_ERR_INFO, "MPI_INFO_NULL");
    T_REFUSED(MPI_Info_set(MPI_INFO_NULL, "k", "v"), MPI_ERR_INFO, "MPI_INFO_NULL");
    T_REFUSED(MPI_Info_set(MPI_INFO_ENV, "k", "v"), MPI_ERR_INFO, "MPI_INFO_ENV");
    T_REFUSED(MPI_Info_set((MPI_Info)MPI_COMM_WORLD, "k", "v"), MPI_ERR_INFO, "communicator");
    T_REFUSED(MPI_Info_set((MPI_Info)&n, "k", "v"), MPI_ERR_INFO, "not a handle");
    T_REFUSED(MPI_Info_set((MPI_Info)0, "k", "v"), MPI_ERR_INFO, "not a handle");
    stale = info;
    T_MPI(MPI_Info_free(&info));
    T_REFUSED_FREED(MPI_Info_set(stale, "k", "v"), MPI_ERR_INFO, "freed");
    T_REFUSED_FREED(MPI_Info_free(&stale), MPI_ERR_INFO, "freed");
    T_REFUSED(MPI_Info_free(&info), MPI_ERR_INFO, "MPI_INFO_NULL");
    T_REFUSED(MPI_Info_free(NULL), MPI_ERR_ARG, "info is NULL");
    T_REFUSED(MPI_Info_create(NULL), MPI_ERR_ARG, "info is NULL");
    info = MPI_INFO_ENV;
    T_REFUSED(MPI_Info_free(&info), MPI_ERR_INFO, "MPI_INFO_ENV");
}

static void env(char *argv[])
{
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL], text[16];
    int flag, size;
    T_MPI(MPI_Info_get(MPI_INFO_ENV, "command", MPI_MAX_INFO_VAL - 1, value, &flag));
    T_EQ(flag, 1);
    T_OK(T_IS_ENDPOINT || strcmp(value, argv[0]) == 0); // else it is that of the process
    T_MPI(MPI_Info_get(MPI_INFO_ENV, "argv", MPI_MAX_INFO_VAL - 1, value, &flag));
    T_EQ(flag, 1);
    T_HAS(value, "first second");
    T_OK(T_IS_ENDPOINT || strcmp(value, "first second") == 0);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(text, sizeof text, "%d", size);
    T_MPI(MPI_Info_get(MPI_INFO_ENV, "maxprocs", 15, value, &flag));
    T_OK(T_IS_ENDPOINT || strcmp(value, text) == 0);
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = { "host", "arch", "wdir" };
        T_MPI(MPI_Info_get(MPI_INFO_ENV, keys[i], MPI_MAX_INFO_VAL - 1, value, &flag));
        T_EQ(flag, 1);
        T_OK(value[0] != '\0');
    }
    T_MPI(MPI_Info_get(MPI_INFO_ENV, "thread_level", 99, value, &flag));
    T_EQ(flag, 0); // nobody asked for a level before the program started
    T_MPI(MPI_Info_create_env(2, (char *[]){ "prog", "arg", NULL }, &info));
    T_MPI(MPI_Info_get(info, "command", 99, value, &flag));
    T_STR(value, "prog");
    T_MPI(MPI_Info_get(info, "argv", 99, value, &flag));
    T_STR(value, "arg");
    T_MPI(MPI_Info_set(info, "mine", "yes"));
    T_MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    MPI_Info early;
    char value[8];
    int flag;
    T_MPI(MPI_Info_create(&early)); // allowed before initialisation
    T_MPI(MPI_Info_set(early, "early", "bird"));
    t_start(&argc, &argv);
    T_MPI(MPI_Info_get(early, "early", 7, value, &flag));
    T_STR(value, "bird");
    basics();
    many();
    mistakes();
    env(argv);
    MPI_Finalize();
    T_MPI(MPI_Info_free(&early)); // and after the end
    return t_status();
}
