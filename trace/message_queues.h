// SPDX-License-Identifier: BSD-3-Clause
// The interface by which parallel debuggers show message queues, version 2: types that debugger and
// library share. Names and layouts are those that debuggers are built with.
#ifndef PLI_TRACE_MESSAGE_QUEUES_H
#define PLI_TRACE_MESSAGE_QUEUES_H

#include <stddef.h>

enum { MQS_INTERFACE_COMPATIBILITY = 2 };

typedef struct _mqs_image_info mqs_image_info;
typedef struct _mqs_process_info mqs_process_info;
typedef struct mqs_image_ mqs_image;
typedef struct mqs_process_ mqs_process;
typedef struct mqs_type_ mqs_type;
typedef unsigned long mqs_taddr_t;
typedef long mqs_tword_t;

typedef struct {
    int short_size, int_size, long_size, long_long_size, pointer_size;
} mqs_target_type_sizes;

enum { mqs_ok = 0, mqs_no_information, mqs_end_of_list, mqs_first_user_code = 100 };
typedef enum {
    mqs_lang_c = 'c',
    mqs_lang_cplus = 'C',
    mqs_lang_f77 = 'f',
    mqs_lang_f90 = 'F'
} mqs_lang_code;
typedef enum { mqs_pending_sends, mqs_pending_receives, mqs_unexpected_messages } mqs_op_class;
enum { MQS_INVALID_PROCESS = -1 };
enum mqs_status { mqs_st_pending, mqs_st_matched, mqs_st_complete };

typedef struct {
    mqs_taddr_t unique_id;
    mqs_tword_t local_rank, size;
    char name[64];
} mqs_communicator;

typedef struct {
    int status;
    mqs_tword_t desired_local_rank, desired_global_rank; // -1: any
    int tag_wild;
    mqs_tword_t desired_tag, desired_length;
    int system_buffer;
    mqs_taddr_t buffer;
    mqs_tword_t actual_local_rank, actual_global_rank, actual_tag, actual_length;
    char extra_text[5][64];
} mqs_pending_operation;

typedef struct mqs_basic_callbacks {
    void *(*mqs_malloc_fp)(size_t size);
    void (*mqs_free_fp)(void *p);
    void (*mqs_dprints_fp)(const char *text);
    char *(*mqs_errorstring_fp)(int code);
    void (*mqs_put_image_info_fp)(mqs_image *image, mqs_image_info *info);
    mqs_image_info *(*mqs_get_image_info_fp)(mqs_image *image);
    void (*mqs_put_process_info_fp)(mqs_process *process, mqs_process_info *info);
    mqs_process_info *(*mqs_get_process_info_fp)(mqs_process *process);
} mqs_basic_callbacks;

typedef struct mqs_image_callbacks {
    void (*mqs_get_type_sizes_fp)(mqs_process *process, mqs_target_type_sizes *sizes);
    int (*mqs_find_function_fp)(mqs_image *image, char *name, mqs_lang_code lang,
                                mqs_taddr_t *address);
    int (*mqs_find_symbol_fp)(mqs_image *image, char *name, mqs_taddr_t *address);
    mqs_type *(*mqs_find_type_fp)(mqs_image *image, char *name, mqs_lang_code lang);
    int (*mqs_field_offset_fp)(mqs_type *type, char *field);
    int (*mqs_sizeof_fp)(mqs_type *type);
} mqs_image_callbacks;

typedef struct mqs_process_callbacks {
    int (*mqs_get_global_rank_fp)(mqs_process *process);
    mqs_image *(*mqs_get_image_fp)(mqs_process *process);
    int (*mqs_fetch_data_fp)(mqs_process *process, mqs_taddr_t from, int size, void *to);
    void (*mqs_target_to_host_fp)(mqs_process *process, const void *from, void *to, int size);
} mqs_process_callbacks;

void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks);
char *mqs_version_string(void);
int mqs_version_compatibility(void);
int mqs_dll_taddr_width(void);
char *mqs_dll_error_string(int code);
int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks);
int mqs_image_has_queues(mqs_image *image, char **message);
void mqs_destroy_image_info(mqs_image_info *info);
int mqs_setup_process(mqs_process *process, const mqs_process_callbacks *callbacks);
int mqs_process_has_queues(mqs_process *process, char **message);
void mqs_destroy_process_info(mqs_process_info *info);
int mqs_update_communicator_list(mqs_process *process);
int mqs_setup_communicator_iterator(mqs_process *process);
int mqs_get_communicator(mqs_process *process, mqs_communicator *out);
int mqs_get_comm_group(mqs_process *process, int *ranks);
int mqs_next_communicator(mqs_process *process);
int mqs_setup_operation_iterator(mqs_process *process, int what);
int mqs_next_operation(mqs_process *process, mqs_pending_operation *out);

#endif
