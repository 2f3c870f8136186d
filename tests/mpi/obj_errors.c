// SPDX-License-Identifier: BSD-3-Clause
// Error classes, codes, strings and handlers.
#include "obj.h"

static int n_call, last_code, new_code;
static MPI_Comm last_comm;
static MPI_File last_file;

static void on_comm(MPI_Comm *c, int *code, ...)
{
    n_call++;
    last_comm = *c;
    last_code = *code;
    if (new_code != 0) {
        *code = new_code;
    }
}

static void on_window(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
}

static void on_file(MPI_File *f, int *code, ...)
{
    n_call++;
    last_file = *f;
    last_code = *code;
}

static void codes(void)
{
    int class, code, code2, other, len, got;
    char text[MPI_MAX_ERROR_STRING];
    T_MPI(MPI_Add_error_class(&class));
    T_OK(class > MPI_ERR_LASTCODE);
    T_MPI(MPI_Add_error_code(class, &code));
    T_MPI(MPI_Add_error_code(MPI_ERR_RANK, &code2));
    T_MPI(MPI_Error_class(code, &got));
    T_EQ(got, class);
    T_MPI(MPI_Error_class(class, &got));
    T_EQ(got, class);
    T_MPI(MPI_Error_class(code2, &got));
    T_EQ(got, MPI_ERR_RANK);
    T_MPI(MPI_Error_string(code, text, &len));
    T_STR(text, "");
    T_EQ(len, 0);
    T_MPI(MPI_Add_error_string(code, "the dog ate it"));
    T_MPI(MPI_Add_error_string(class, "eaten"));
    T_MPI(MPI_Error_string(code, text, &len));
    T_STR(text, "the dog ate it");
    T_EQ(len, 14);
    T_MPI(MPI_Add_error_string(code, "the cat ate it"));
    T_MPI(MPI_Error_string(code, text, &len));
    T_STR(text, "the cat ate it");
    T_REFUSED(MPI_Remove_error_class(class), MPI_ERR_OTHER, "code");
    T_REFUSED(MPI_Remove_error_code(code), MPI_ERR_OTHER, "MPI_Remove_error_string");
    T_REFUSED(MPI_Remove_error_class(code), MPI_ERR_ARG, "MPI_Add_error_class");
    T_REFUSED(MPI_Remove_error_code(class), MPI_ERR_ARG, "MPI_Add_error_code");
    T_MPI(MPI_Remove_error_string(code));
    T_REFUSED(MPI_Remove_error_string(code), MPI_ERR_ARG, "no error string");
    T_MPI(MPI_Remove_error_code(code));
    T_REFUSED(MPI_Remove_error_class(class), MPI_ERR_OTHER, "string");
    T_MPI(MPI_Remove_error_string(class));
    T_MPI(MPI_Remove_error_class(class));
    T_MPI(MPI_Remove_error_code(code2));
    T_REFUSED(MPI_Error_class(code, &got), MPI_ERR_ARG, "errorcode");
    T_MPI(MPI_Add_error_class(&other));
    T_EQ(other, class); // all above are gone
    T_MPI(MPI_Remove_error_class(other));
}

static void code_mistakes(void)
{
    int got, len;
    char text[MPI_MAX_ERROR_STRING], big[MPI_MAX_ERROR_STRING + 1];
    memset(big, 'b', sizeof big);
    big[MPI_MAX_ERROR_STRING] = '\0';
    T_REFUSED(MPI_Add_error_code(12000, &got), MPI_ERR_ARG, "12000");
    T_REFUSED(MPI_Add_error_code(-1, &got), MPI_ERR_ARG, "-1");
    T_REFUSED(MPI_Add_error_code(20000, &got), MPI_ERR_ARG, "20000");
    T_REFUSED(MPI_Add_error_string(MPI_ERR_RANK, "mine now"), MPI_ERR_ARG, "not added");
    T_REFUSED(MPI_Remove_error_string(MPI_ERR_RANK), MPI_ERR_ARG, "not added");
    T_REFUSED(MPI_Error_class(20000, &got), MPI_ERR_ARG, "20000");
    T_REFUSED(MPI_Error_class(-5, &got), MPI_ERR_ARG, "-5");
    T_REFUSED(MPI_Error_string(1 << 30, text, &len), MPI_ERR_ARG, "1073741824");
    T_REFUSED(MPI_Error_string(0, NULL, &len), MPI_ERR_ARG, "string is NULL");
    int class;
    T_MPI(MPI_Add_error_class(&class));
    T_REFUSED(MPI_Add_error_string(class, big), MPI_ERR_ARG, "512");
    T_REFUSED(MPI_Add_error_string(class, NULL), MPI_ERR_ARG, "NULL");
    T_MPI(MPI_Remove_error_class(class));
}

// All the standard's classes have a text and are their own class.
static void standard(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int len, class, n = 0;
    for (int i = 0; i <= MPI_ERR_LASTCODE; i++) {
        if (i <= MPI_ERR_ABI || (i >= MPI_T_ERR_CANNOT_INIT && i <= MPI_T_ERR_PVAR_NO_ATOMIC)) {
            T_MPI(MPI_Error_string(i, text, &len));
            T_OK(len > 5 && len == (int)strlen(text));
            T_MPI(MPI_Error_class(i, &class));
            T_EQ(class, i);
            n++;
        }
    }
    T_EQ(n, 63 + 18);
}

// Codes keep their sentences through hundreds of later failures, and their class for ever.
static void sentences(void)
{
    int size, code[400], class, len;
    char text[MPI_MAX_ERROR_STRING], piece[32];
    MPI_Group g, h;
    MPI_Comm_group(MPI_COMM_SELF, &g);
    MPI_Group_size(g, &size);
    for (int i = 0; i < 400; i++) {
        code[i] = MPI_Group_incl(g, 1, (int[]){ 1000 + i }, &h);
    }
    for (int i = 0; i < 400; i++) {
        T_MPI(MPI_Error_class(code[i], &class));
        T_EQ(class, MPI_ERR_RANK);
        T_MPI(MPI_Error_string(code[i], text, &len));
        snprintf(piece, sizeof piece, "rank %d", 1000 + i);
        T_OK(i < 200 || strstr(text, piece) != NULL);
    }
    T_MPI(MPI_Group_free(&g));
}

static void handlers(void)
{
    MPI_Errhandler mine, got, stale;
    int code, size;
    T_MPI(MPI_Comm_create_errhandler(on_comm, &mine));
    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    T_MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    T_OK(got == mine);
    T_MPI(MPI_Errhandler_free(&got));
    T_OK(got == MPI_ERRHANDLER_NULL);
    stale = mine;
    T_MPI(MPI_Errhandler_free(&mine)); // lives on in the communicator
    T_REFUSED(MPI_Errhandler_free(&stale), MPI_ERR_ERRHANDLER, "freed before");
    n_call = 0;
    code = MPI_Send(NULL, 0, MPI_INT, 1 << 20, 0, MPI_COMM_WORLD);
    T_EQ(n_call, 1);
    T_EQ(code, last_code);
    T_OK(last_comm == MPI_COMM_WORLD);
    new_code = 4711; // the handler decides what the call returns
    T_EQ(MPI_Send(NULL, 0, MPI_INT, 1 << 20, 0, MPI_COMM_WORLD), 4711);
    new_code = 0;
    T_MPI(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG));
    T_EQ(n_call, 3);
    T_EQ(last_code, MPI_ERR_TAG);
    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    T_REFUSED_FREED(MPI_Errhandler_free(&stale), MPI_ERR_ERRHANDLER, "freed");
    T_MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    T_OK(got == MPI_ERRORS_RETURN);
    T_MPI(MPI_Errhandler_free(&got)); // as the standard asks, also for a predefined one
    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    // Errors without an object go to MPI_COMM_SELF.
    T_MPI(MPI_Comm_create_errhandler(on_comm, &mine));
    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine));
    n_call = 0;
    MPI_Comm_size(MPI_COMM_NULL, &size);
    T_EQ(n_call, 1);
    T_OK(last_comm == MPI_COMM_SELF);
    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    T_MPI(MPI_Errhandler_free(&mine));
}

static void files(void)
{
    MPI_Errhandler mine, got;
    T_MPI(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    T_OK(got == MPI_ERRORS_RETURN);
    MPI_Errhandler of_windows;
    T_MPI(MPI_Win_create_errhandler(on_window, &of_windows));
    T_REFUSED(MPI_Comm_set_errhandler(MPI_COMM_SELF, of_windows), MPI_ERR_ERRHANDLER, "window");
    T_MPI(MPI_Errhandler_free(&of_windows));
    T_REFUSED(MPI_Win_create_errhandler(NULL, &of_windows), MPI_ERR_ARG, "NULL");
    T_MPI(MPI_File_create_errhandler(on_file, &mine));
    T_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    T_MPI(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    T_OK(got == mine);
    n_call = 0;
    T_MPI(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE));
    T_EQ(n_call, 1);
    T_OK(last_file == MPI_FILE_NULL);
    T_REFUSED(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine), MPI_ERR_ERRHANDLER, "file");
    T_REFUSED(MPI_File_set_errhandler((MPI_File)MPI_COMM_WORLD, mine), MPI_ERR_FILE,
              "communicator");
    T_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    T_MPI(MPI_Errhandler_free(&mine));
    T_MPI(MPI_Errhandler_free(&got));
}

static void mistakes(void)
{
    MPI_Errhandler e, none = MPI_ERRHANDLER_NULL;
    T_REFUSED(MPI_Comm_create_errhandler(NULL, &e), MPI_ERR_ARG, "NULL");
    T_REFUSED(MPI_Comm_create_errhandler(on_comm, NULL), MPI_ERR_ARG, "errhandler is NULL");
    T_REFUSED(MPI_Comm_set_errhandler(MPI_COMM_WORLD, none), MPI_ERR_ERRHANDLER,
              "MPI_ERRHANDLER_NULL");
    T_REFUSED(MPI_Comm_set_errhandler(MPI_COMM_WORLD, (MPI_Errhandler)MPI_COMM_SELF),
              MPI_ERR_ERRHANDLER, "communicator");
    T_REFUSED(MPI_Comm_set_errhandler(MPI_COMM_NULL, MPI_ERRORS_RETURN), MPI_ERR_COMM,
              "MPI_COMM_NULL");
    T_REFUSED(MPI_Errhandler_free(&none), MPI_ERR_ERRHANDLER, "MPI_ERRHANDLER_NULL");
    T_REFUSED(MPI_Comm_call_errhandler(MPI_COMM_NULL, 1), MPI_ERR_COMM, "MPI_COMM_NULL");
}

int main(int argc, char **argv)
{
    char text[MPI_MAX_ERROR_STRING];
    int len, class;
    T_MPI(MPI_Error_string(MPI_ERR_RANK, text, &len)); // before initialisation
    T_MPI(MPI_Error_class(MPI_ERR_RANK, &class));
    t_start(&argc, &argv);
    codes();
    code_mistakes();
    standard();
    sentences();
    handlers();
    files();
    mistakes();
    return t_end();
}
