// SPDX-License-Identifier: BSD-3-Clause
// MPI_T by itself: before MPI_Init and after MPI_Finalize, twice; every list, every wrong argument.
#include "t.h"

#include <mpi.h>
#include <stdint.h>

static int garbage; // its address is no handle of any kind

static void check_closed(void)
{
    int n = 0;
    char text[8];
    MPI_T_pvar_session s;
    T_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_pvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_category_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_category_changed(&n), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, text, &n), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_pvar_session_create(&s), MPI_T_ERR_NOT_INITIALIZED);
#if MPI_VERSION >= 4 // other MPIs build this too, and older ones have no events
    MPI_T_event_registration r;
    T_EQ(MPI_T_event_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_source_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    T_EQ(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &r), MPI_T_ERR_NOT_INITIALIZED);
#endif
}

static void check_enum(MPI_T_enum e)
{
    int n = -1, value = -1, len = 64;
    char text[64];
    T_EQ(MPI_T_enum_get_info(e, &n, text, &len), MPI_SUCCESS);
    T_OK(n > 0 && len == (int)strlen(text) + 1);
    for (int i = 0; i < n; i++) {
        len = sizeof text;
        T_EQ(MPI_T_enum_get_item(e, i, &value, text, &len), MPI_SUCCESS);
        T_OK(value == i && text[0] != '\0');
    }
    T_EQ(MPI_T_enum_get_item(e, n, &value, text, &len), MPI_T_ERR_INVALID_ITEM);
    T_EQ(MPI_T_enum_get_item(e, -1, &value, text, &len), MPI_T_ERR_INVALID_ITEM);
    T_EQ(MPI_T_enum_get_info((MPI_T_enum)(void *)&garbage, &n, text, &len),
         MPI_T_ERR_INVALID_HANDLE);
}

// Strings: only the length, a part, all.
static void check_text(void)
{
    int index, len = 0, desc_len = 0;
    char text[64] = "unchanged";
    T_EQ(MPI_T_cvar_get_index("PLIANT_EAGER_MAX", &index), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_get_info(index, text, &len, NULL, NULL, NULL, NULL, &desc_len, NULL, NULL),
         MPI_SUCCESS);
    T_EQ(len, 17);
    T_OK(desc_len > 10);
    T_STR(text, "unchanged");
    len = 7;
    MPI_T_cvar_get_info(index, text, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    T_STR(text, "PLIANT");
    T_EQ(len, 17);
    len = sizeof text;
    MPI_T_cvar_get_info(index, text, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    T_STR(text, "PLIANT_EAGER_MAX");
}

static void check_cvars(MPI_Comm comm)
{
    int n, n_word = 0;
    T_EQ(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
    T_OK(n > 30);
    for (int i = 0; i < n; i++) {
        char name[64], desc[256], value[1024];
        int len = 64, desc_len = 256, verbosity, bind, scope, count = 0, back = -1;
        MPI_Datatype type;
        MPI_T_enum words;
        MPI_T_cvar_handle h;
        T_EQ(MPI_T_cvar_get_info(i, name, &len, &verbosity, &type, &words, desc, &desc_len, &bind,
                                 &scope),
             MPI_SUCCESS);
        T_OK(type == MPI_INT || type == MPI_COUNT || type == MPI_CHAR);
        T_OK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        T_OK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
        T_OK(bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM);
        T_EQ(MPI_T_cvar_get_index(name, &back), MPI_SUCCESS);
        T_EQ(back, i);
        if (words != MPI_T_ENUM_NULL) {
            T_OK(type == MPI_INT);
            check_enum(words);
            n_word++;
        }
        if (bind == MPI_T_BIND_MPI_COMM) {
            T_EQ(MPI_T_cvar_handle_alloc(i, NULL, &h, &count), MPI_T_ERR_INVALID);
            if (comm == MPI_COMM_NULL) {
                continue;
            }
        }
        T_EQ(MPI_T_cvar_handle_alloc(i, &comm, &h, &count), MPI_SUCCESS);
        T_OK(count == (type == MPI_CHAR ? 1024 : 1));
        T_EQ(MPI_T_cvar_read(h, value), MPI_SUCCESS);
        if (scope == MPI_T_SCOPE_CONSTANT) {
            T_EQ(MPI_T_cvar_write(h, value), MPI_T_ERR_CVAR_SET_NEVER);
        } else if (scope != MPI_T_SCOPE_READONLY) {
            T_EQ(MPI_T_cvar_write(h, value), MPI_SUCCESS); // what it has already
        }
        MPI_T_cvar_handle stale = h;
        T_EQ(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
        T_OK(h == MPI_T_CVAR_HANDLE_NULL);
        T_EQ(MPI_T_cvar_read(stale, value), MPI_T_ERR_INVALID_HANDLE);
        T_EQ(MPI_T_cvar_handle_free(&stale), MPI_T_ERR_INVALID_HANDLE);
    }
    T_OK(n_word > 5);
    T_EQ(MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
         MPI_T_ERR_INVALID_INDEX);
    T_EQ(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
         MPI_T_ERR_INVALID_INDEX);
    T_EQ(MPI_T_cvar_get_index("PLIANT_NO_SUCH", &n), MPI_T_ERR_INVALID_NAME);
    T_EQ(MPI_T_cvar_get_index(NULL, &n), MPI_T_ERR_INVALID);
}

static MPI_T_cvar_handle cvar(const char *name, MPI_Comm *comm)
{
    int index, count;
    MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
    T_MUST(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    T_MUST(MPI_T_cvar_handle_alloc(index, comm, &h, &count) == MPI_SUCCESS);
    return h;
}

// Numbers have limits, words have numbers, some can be changed before MPI_Init only.
static void check_write(int is_initialised)
{
    MPI_Count bytes = 0, was = 0, bad = -1;
    int level = -1, wrong = -1, net = -1, debug = 123;
    char text[1024] = "";
    MPI_T_cvar_handle h = cvar("PLIANT_EAGER_MAX", NULL);
    T_EQ(MPI_T_cvar_read(h, &was), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_write(h, &bad), MPI_T_ERR_INVALID);
    T_EQ(MPI_T_cvar_write(h, &(MPI_Count){ 4096 }), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_read(h, &bytes), MPI_SUCCESS);
    T_EQ(bytes, 4096);
    T_EQ(MPI_T_cvar_write(h, &was), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_write(h, NULL), MPI_T_ERR_INVALID);
    T_EQ(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    h = cvar("PLIANT_LOG", NULL);
    T_EQ(MPI_T_cvar_read(h, &level), MPI_SUCCESS);
    T_EQ(level, 1); // "warn"
    T_EQ(MPI_T_cvar_write(h, &wrong), MPI_T_ERR_INVALID);
    T_EQ(MPI_T_cvar_write(h, &(int){ 0 }), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_read(h, &level), MPI_SUCCESS);
    T_EQ(level, 0);
    T_EQ(MPI_T_cvar_write(h, &(int){ 4 }), MPI_SUCCESS); // "coll", the word after "debug"
    T_EQ(MPI_T_cvar_read(h, &level), MPI_SUCCESS);
    T_EQ(level, 4);
    T_EQ(MPI_T_cvar_write(h, &debug), MPI_SUCCESS); // as debug
    T_EQ(MPI_T_cvar_read(h, &level), MPI_SUCCESS);
    T_EQ(level, 123);
    T_EQ(MPI_T_cvar_write(h, &(int){ 1 }), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    h = cvar("PLIANT_NET", NULL);
    T_EQ(MPI_T_cvar_read(h, &net), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_write(h, &net), is_initialised ? MPI_T_ERR_CVAR_SET_NOT_NOW : MPI_SUCCESS);
    T_EQ(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    h = cvar("PLIANT_COLL", NULL);
    T_EQ(MPI_T_cvar_write(h, is_initialised ? "" : "bcast:chain"),
         is_initialised ? MPI_T_ERR_CVAR_SET_NOT_NOW : MPI_SUCCESS);
    T_EQ(MPI_T_cvar_read(h, text), MPI_SUCCESS);
    T_STR(text, "bcast:chain");
    T_EQ(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
}

// A hint is read and written through a handle that is bound to a communicator.
static void check_hint(void)
{
    MPI_Comm dup;
    MPI_Info info;
    int flag, value = -1;
    char text[16];
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    MPI_T_cvar_handle h = cvar("mpi_assert_no_any_tag", &dup);
    T_EQ(MPI_T_cvar_read(h, &value), MPI_SUCCESS);
    T_EQ(value, 0);
    T_EQ(MPI_T_cvar_write(h, &(int){ 1 }), MPI_SUCCESS);
    T_EQ(MPI_T_cvar_write(h, &(int){ 2 }), MPI_T_ERR_INVALID);
    MPI_Comm_get_info(dup, &info);
    MPI_Info_get(info, "mpi_assert_no_any_tag", 15, text, &flag);
    T_OK(flag && strcmp(text, "true") == 0);
    MPI_Info_free(&info);
    MPI_Comm_free(&dup);
    T_EQ(MPI_T_cvar_read(h, &value), MPI_T_ERR_INVALID_HANDLE);
    T_EQ(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
}

// Some MPIs number the classes from 240 on.
static int bit(int class)
{
    return 1 << (class - MPI_T_PVAR_CLASS_STATE);
}

static void check_pvars(MPI_Comm comm)
{
    int n, seen = 0;
    MPI_T_pvar_session s, other;
    T_EQ(MPI_T_pvar_session_create(&s), MPI_SUCCESS);
    T_EQ(MPI_T_pvar_session_create(&other), MPI_SUCCESS);
    T_EQ(MPI_T_pvar_get_num(&n), MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        char name[64], desc[256];
        double value;
        int len = 64, desc_len = 256, verbosity, class, bind, readonly, continuous, atomic, back,
            count;
        MPI_Datatype type;
        MPI_T_enum words;
        MPI_T_pvar_handle h;
        T_EQ(MPI_T_pvar_get_info(i, name, &len, &verbosity, &class, &type, &words, desc, &desc_len,
                                 &bind, &readonly, &continuous, &atomic),
             MPI_SUCCESS);
        T_OK(desc_len <= 128 && len <= 64);
        T_OK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        T_OK(bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM);
        T_EQ(MPI_T_pvar_get_index(name, class, &back), MPI_SUCCESS);
        T_EQ(back, i);
        seen |= bit(class);
        if (words != MPI_T_ENUM_NULL) {
            check_enum(words);
        }
        if (bind == MPI_T_BIND_MPI_COMM && comm == MPI_COMM_NULL) {
            continue;
        }
        T_EQ(MPI_T_pvar_handle_alloc(s, i, &comm, &h, &count), MPI_SUCCESS);
        T_EQ(count, 1);
        T_EQ(MPI_T_pvar_start(s, h), continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS);
        T_EQ(MPI_T_pvar_read(s, h, &value), MPI_SUCCESS);
        T_EQ(MPI_T_pvar_readreset(s, h, &value), atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC);
        T_EQ(MPI_T_pvar_reset(s, h), readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS);
        T_EQ(MPI_T_pvar_write(s, h, &value), readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS);
        T_EQ(MPI_T_pvar_stop(s, h), continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS);
        T_EQ(MPI_T_pvar_read(s, h, NULL), MPI_T_ERR_INVALID);
        T_EQ(MPI_T_pvar_read(other, h, &value), MPI_T_ERR_INVALID_HANDLE);
        MPI_T_pvar_handle stale = h;
        T_EQ(MPI_T_pvar_handle_free(other, &h), MPI_T_ERR_INVALID_HANDLE);
        T_EQ(MPI_T_pvar_handle_free(s, &h), MPI_SUCCESS);
        T_OK(h == MPI_T_PVAR_HANDLE_NULL);
        T_EQ(MPI_T_pvar_read(s, stale, &value), MPI_T_ERR_INVALID_HANDLE);
    }
    T_EQ(seen, bit(MPI_T_PVAR_CLASS_STATE) | bit(MPI_T_PVAR_CLASS_LEVEL) |
                   bit(MPI_T_PVAR_CLASS_SIZE) | bit(MPI_T_PVAR_CLASS_PERCENTAGE) |
                   bit(MPI_T_PVAR_CLASS_HIGHWATERMARK) | bit(MPI_T_PVAR_CLASS_COUNTER) |
                   bit(MPI_T_PVAR_CLASS_AGGREGATE) | bit(MPI_T_PVAR_CLASS_TIMER));
    MPI_T_pvar_handle h;
    int count;
    T_EQ(MPI_T_pvar_handle_alloc(s, n, NULL, &h, &count), MPI_T_ERR_INVALID_INDEX);
    T_EQ(MPI_T_pvar_get_index("waits", MPI_T_PVAR_CLASS_LEVEL, &n), MPI_T_ERR_INVALID_NAME);
    T_EQ(MPI_T_pvar_handle_alloc((MPI_T_pvar_session)(void *)&garbage, 0, NULL, &h, &count),
         MPI_T_ERR_INVALID_SESSION);
    T_EQ(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS); // there is none
    T_EQ(MPI_T_pvar_start(s, (MPI_T_pvar_handle)(void *)&garbage), MPI_T_ERR_INVALID_HANDLE);
    T_EQ(MPI_T_pvar_session_free(&other), MPI_SUCCESS);
    T_OK(other == MPI_T_PVAR_SESSION_NULL);
    T_EQ(MPI_T_pvar_session_free(&other), MPI_T_ERR_INVALID_SESSION);
    T_EQ(MPI_T_pvar_session_free(&s), MPI_SUCCESS);
}

#if MPI_VERSION >= 4
static int n_freed;

static void freed(MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    (void)r;
    (void)safety;
    n_freed += *(int *)data;
}

static void check_events(void)
{
    int n, one = 1;
    T_EQ(MPI_T_event_get_num(&n), MPI_SUCCESS);
    T_EQ(n, 7);
    for (int i = 0; i < n; i++) {
        char name[64], desc[128];
        int len = 64, desc_len = 128, verbosity, bind, n_element = 8, back, n_item;
        MPI_Datatype types[8];
        MPI_Aint at[8];
        MPI_T_enum names;
        MPI_Info info;
        MPI_T_event_registration r, stale;
        T_EQ(MPI_T_event_get_info(i, name, &len, &verbosity, types, at, &n_element, &names, &info,
                                  desc, &desc_len, &bind),
             MPI_SUCCESS);
        T_OK(n_element > 0 && at[0] == 0 && types[0] == MPI_INT);
        MPI_Info_free(&info);
        check_enum(names);
        len = 0;
        T_EQ(MPI_T_enum_get_info(names, &n_item, NULL, &len), MPI_SUCCESS);
        T_EQ(n_item, n_element);
        T_EQ(MPI_T_event_get_index(name, &back), MPI_SUCCESS);
        T_EQ(back, i);
        T_EQ(MPI_T_event_handle_alloc(i, NULL, MPI_INFO_NULL, &r), MPI_SUCCESS);
        T_EQ(MPI_T_event_handle_set_info(r, MPI_INFO_NULL), MPI_SUCCESS);
        T_EQ(MPI_T_event_handle_get_info(r, &info), MPI_SUCCESS);
        MPI_Info_free(&info);
        T_EQ(MPI_T_event_callback_set_info(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), MPI_SUCCESS);
        T_EQ(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_THREAD_SAFE, &info), MPI_SUCCESS);
        MPI_Info_free(&info);
        T_EQ(MPI_T_event_callback_get_info(r, 77, &info), MPI_T_ERR_INVALID);
        T_EQ(MPI_T_event_register_callback(r, 77, MPI_INFO_NULL, NULL, NULL), MPI_T_ERR_INVALID);
        T_EQ(MPI_T_event_set_dropped_handler(r, NULL), MPI_SUCCESS);
        stale = r;
        T_EQ(MPI_T_event_handle_free(r, &one, freed), MPI_SUCCESS);
        T_EQ(MPI_T_event_handle_free(stale, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
        T_EQ(MPI_T_event_set_dropped_handler(stale, NULL), MPI_T_ERR_INVALID_HANDLE);
    }
    T_EQ(n_freed, n);
    n_freed = 0;
    T_EQ(MPI_T_event_get_index("no_such", &n), MPI_T_ERR_INVALID_NAME);
    MPI_Count when;
    MPI_T_event_instance none = (MPI_T_event_instance)(void *)&garbage;
    T_EQ(MPI_T_event_read(none, 0, &n), MPI_T_ERR_INVALID_HANDLE);
    T_EQ(MPI_T_event_copy(none, &n), MPI_T_ERR_INVALID_HANDLE);
    T_EQ(MPI_T_event_get_timestamp(none, &when), MPI_T_ERR_INVALID_HANDLE);
    T_EQ(MPI_T_event_get_source(none, &n), MPI_T_ERR_INVALID_HANDLE);
}

static void check_sources(void)
{
    int n, len = 64, desc_len = 0;
    char name[64];
    MPI_T_source_order order;
    MPI_Count ticks, most, first, second;
    MPI_Info info;
    T_EQ(MPI_T_source_get_num(&n), MPI_SUCCESS);
    T_EQ(n, 2);
    T_EQ(MPI_T_source_get_info(0, name, &len, NULL, &desc_len, &order, &ticks, &most, &info),
         MPI_SUCCESS);
    T_STR(name, "engine");
    T_OK(order == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && most > ticks);
    MPI_Info_free(&info);
    T_EQ(MPI_T_source_get_timestamp(0, &first), MPI_SUCCESS);
    T_EQ(MPI_T_source_get_timestamp(1, &second), MPI_SUCCESS);
    T_OK(first > 0 && second >= first);
    T_EQ(MPI_T_source_get_timestamp(n, &first), MPI_T_ERR_INVALID_INDEX);
    T_EQ(MPI_T_source_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
         MPI_T_ERR_INVALID_INDEX);
}
#endif

// Every variable and event is in one category, and every category but the first below the first.
static void check_categories(void)
{
    int n, total[4] = { 0 }, all[4] = { 0 }, changed = -1, changed_again = -2, index;
    T_EQ(MPI_T_category_get_num(&n), MPI_SUCCESS);
    MPI_T_category_changed(&changed);
    for (int i = 0; i < n; i++) {
        char name[64];
        int len = 64, num[4] = { 0 }, found[400];
        T_EQ(MPI_T_category_get_info(i, name, &len, NULL, NULL, &num[0], &num[1], &num[2]),
             MPI_SUCCESS);
        T_EQ(MPI_T_category_get_index(name, &index), MPI_SUCCESS);
        T_EQ(index, i);
        int (*const get[4])(int, int, int[]) = {
            MPI_T_category_get_cvars,
            MPI_T_category_get_pvars,
            MPI_T_category_get_categories,
#if MPI_VERSION >= 4
            MPI_T_category_get_events
#endif
        };
#if MPI_VERSION >= 4
        T_EQ(MPI_T_category_get_num_events(i, &num[3]), MPI_SUCCESS);
#endif
        for (int k = 0; k < 4 && get[k] != NULL; k++) {
            memset(found, -1, sizeof found);
            T_EQ(get[k](i, 400, found), MPI_SUCCESS);
            T_OK(num[k] == 0 || found[num[k] - 1] >= 0);
            T_EQ(found[num[k]], -1);
            T_EQ(get[k](n, 400, found), MPI_T_ERR_INVALID_INDEX);
            T_EQ(get[k](i, -1, found), MPI_T_ERR_INVALID);
            total[k] += num[k];
        }
    }
    MPI_T_cvar_get_num(&all[0]);
    MPI_T_pvar_get_num(&all[1]);
#if MPI_VERSION >= 4
    MPI_T_event_get_num(&all[3]);
#endif
    all[2] = n - 1;
    for (int k = 0; k < 4; k++) {
        T_EQ(total[k], all[k]);
    }
    T_EQ(MPI_T_category_get_index("no_such", &index), MPI_T_ERR_INVALID_NAME);
    T_EQ(MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
         MPI_T_ERR_INVALID_INDEX);
    MPI_T_category_changed(&changed_again);
    T_EQ(changed, changed_again);
}

static void check_all(MPI_Comm comm)
{
    check_text();
    check_cvars(comm);
    check_pvars(comm);
#if MPI_VERSION >= 4
    check_events();
    check_sources();
#endif
    check_categories();
}

static int state(void)
{
    int index, count, value = -1;
    MPI_T_pvar_session s;
    MPI_T_pvar_handle h;
    MPI_T_pvar_session_create(&s);
    T_EQ(MPI_T_pvar_get_index("mpi_state", MPI_T_PVAR_CLASS_STATE, &index), MPI_SUCCESS);
    T_EQ(MPI_T_pvar_handle_alloc(s, index, NULL, &h, &count), MPI_SUCCESS);
    T_EQ(MPI_T_pvar_read(s, h, &value), MPI_SUCCESS);
    MPI_T_pvar_session_free(&s);
    return value;
}

int main(int argc, char **argv)
{
    int provided = -1;
    check_closed();
    T_EQ(MPI_T_init_thread(12345, &provided), MPI_T_ERR_INVALID);
    T_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    T_EQ(provided, MPI_THREAD_SINGLE);
    check_all(MPI_COMM_NULL);
    check_write(0);
    T_EQ(state(), 0);
    T_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    T_EQ(MPI_T_finalize(), MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    T_EQ(state(), 1); // it was begun twice and ended once
    check_all(MPI_COMM_WORLD);
    check_write(1);
    check_hint();
    T_EQ(MPI_T_finalize(), MPI_SUCCESS);
    check_closed();
    T_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    T_EQ(provided, MPI_THREAD_SERIALIZED);
    MPI_Finalize();
    T_EQ(state(), 2);
    check_all(MPI_COMM_NULL);
    T_EQ(MPI_T_finalize(), MPI_SUCCESS);
    check_closed();
    return t_status();
}
