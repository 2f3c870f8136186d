// SPDX-License-Identifier: BSD-3-Clause
// MPICH's streams: a program says that what it does in one is serial. Nothing is gained from that
// here, as a communicator has its own order of messages anyway; so a communicator of a stream is a
// copy, which remembers its stream. Streams of a device are refused.
#include "foreign_calls.h"

#include <pthread.h>
#include <stdio.h>

enum { NONE = 0x3d000000, FIRST = 0x3e000000 }; // numbers of streams

static int n_made;
static int stream_attr = MPI_KEYVAL_INVALID; // of the attribute of a communicator: its stream
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // of both

// The error of a stream that is a device's. Its handler is that of errors without a communicator.
static int refuse_device(void)
{
    static int code = MPI_SUCCESS;
    pthread_mutex_lock(&guard);
    if (code == MPI_SUCCESS) {
        pli_std_MPI_Add_error_code(MPI_ERR_UNSUPPORTED_OPERATION, &code);
        pli_std_MPI_Add_error_string(code, "MPIX_Stream_create: Pliant MPI has no streams of "
                                           "devices; leave the key \"type\" out of the info");
    }
    int err = code;
    pthread_mutex_unlock(&guard);
    pli_std_MPI_Comm_call_errhandler(MPI_COMM_SELF, err);
    return pli_foreign_error_out(err);
}

static bool is_stream(int stream)
{
    pthread_mutex_lock(&guard);
    bool is = stream == NONE || (stream >= FIRST && stream - FIRST < n_made);
    pthread_mutex_unlock(&guard);
    return is;
}

int PMPIX_Stream_create(F_Info info, int *stream)
{
    char type[MPI_MAX_INFO_VAL];
    int len = sizeof type, has_type = 0;
    MPI_Info ours = pli_foreign_info_in(info);
    int err = stream == NULL ? MPI_ERR_ARG
              : ours == MPI_INFO_NULL
                  ? 0
                  : pli_std_MPI_Info_get_string(ours, "type", &len, type, &has_type);
    if (err == 0 && has_type) {
        return refuse_device();
    }
    if (err != 0) {
        return pli_foreign_error_out(err);
    }
    pthread_mutex_lock(&guard);
    *stream = FIRST + n_made++;
    pthread_mutex_unlock(&guard);
    return 0;
}

// How programs pass a device's stream: as digits.
int PMPIX_Info_set_hex(F_Info info, const char *key, const void *value, int value_size)
{
    char text[MPI_MAX_INFO_VAL];
    if (value == NULL || value_size < 0 || 2 * (size_t)value_size + 1 > sizeof text) {
        return pli_foreign_error_out(MPI_ERR_INFO_VALUE);
    }
    text[0] = '\0';
    for (int i = 0; i < value_size; i++) {
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)value)[i]);
    }
    int err = pli_std_MPI_Info_set(pli_foreign_info_in(info), key, text);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int PMPIX_Stream_free(int *stream)
{
    if (stream == NULL || *stream == NONE || !is_stream(*stream)) {
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    *stream = NONE;
    return 0;
}

static int stream_key(void)
{
    pthread_mutex_lock(&guard);
    if (stream_attr == MPI_KEYVAL_INVALID) {
        pli_std_MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &stream_attr,
                                       NULL);
    }
    int k = stream_attr;
    pthread_mutex_unlock(&guard);
    return k;
}

// Collective over comm.
int PMPIX_Stream_comm_create(F_Comm comm, int stream, F_Comm *newcomm)
{
    MPI_Comm made = MPI_COMM_NULL;
    int err = newcomm == NULL || !is_stream(stream)
                  ? MPI_ERR_ARG
                  : pli_std_MPI_Comm_dup(pli_foreign_comm_in(comm), &made);
    if (err == 0) {
        err = pli_std_MPI_Comm_set_attr(made, stream_key(), (void *)(intptr_t)stream);
    }
    if (err != 0) {
        return pli_foreign_error_out(err);
    }
    *newcomm = pli_foreign_comm_out(made);
    return 0;
}

int PMPIX_Comm_get_stream(F_Comm comm, int idx, int *stream)
{
    void *value = NULL;
    int has_one = 0;
    int err =
        idx != 0 || stream == NULL
            ? MPI_ERR_ARG
            : pli_std_MPI_Comm_get_attr(pli_foreign_comm_in(comm), stream_key(), &value, &has_one);
    if (err != 0) {
        return pli_foreign_error_out(err);
    }
    *stream = has_one ? (int)(intptr_t)value : NONE;
    return 0;
}

int PMPIX_Stream_progress(int stream)
{
    int flag;
    int err = is_stream(stream) ? pli_std_MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF,
                                                     &flag, MPI_STATUS_IGNORE)
                                : MPI_ERR_ARG;
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int MPIX_Stream_create(F_Info info, int *stream)
    __attribute__((weak, alias("PMPIX_Stream_create")));
int MPIX_Info_set_hex(F_Info info, const char *key, const void *value, int value_size)
    __attribute__((weak, alias("PMPIX_Info_set_hex")));
int MPIX_Stream_free(int *stream) __attribute__((weak, alias("PMPIX_Stream_free")));
int MPIX_Stream_comm_create(F_Comm comm, int stream, F_Comm *newcomm)
    __attribute__((weak, alias("PMPIX_Stream_comm_create")));
int MPIX_Comm_get_stream(F_Comm comm, int idx, int *stream)
    __attribute__((weak, alias("PMPIX_Comm_get_stream")));
int MPIX_Stream_progress(int stream) __attribute__((weak, alias("PMPIX_Stream_progress")));
