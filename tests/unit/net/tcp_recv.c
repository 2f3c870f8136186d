// SPDX-License-Identifier: BSD-3-Clause
// A process whose peers are this test: it plays the launcher and thousands of other processes, and
// writes to the connections what it likes. What is right arrives however it is cut; what is wrong
// closes the connection it came over and harms nothing else; and then come random changes.
#include "boot/accept_wire.h"
#include "base/fdpass.h"
#include "boot/node.h"
#include "net/tcp/frame.h"
#include "net/tcp/frame_wire.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "msg/msg_wire.h"
#include "t.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_WORLD = 40000, N_FUZZ = 500, CONTEXT_WORLD = 4 };

static int accept_sock, listener;
static uint32_t next_proc = 1;

static void start_as_rank_0(void)
{
    struct pli_node node;
    const struct pli_node_plan plan = { .n_row = 1, .n_world = N_WORLD, .n_host = 2 };
    int fd, ctl[2], way[2];
    char text[100];
    T_MUST(pli_node_create_for(&plan, &node, &fd) == PLI_OK);
    for (uint32_t i = 1; i < N_WORLD; i++) {
        node.procs[i].host = 1;
    }
    node.header->net = PLI_NODE_HAS_NET;
    node.header->n_core = 1;
    T_MUST(pli_node_check(&node) == PLI_OK);
    T_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ctl) == 0);
    T_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, way) == 0);
    accept_sock = way[0];
    snprintf(text, sizeof text, "fd=%d,row=0,n=1,ctl=%d,accept=%d", fd, ctl[1], way[1]);
    setenv("PLIANT_BOOT", text, 1);
    setenv("PLIANT_UNEXPECTED_MAX", "100000", 1);
    setenv("PLIANT_LOG", "error", 1); // connections are lost by the thousand
    T_MUST(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = { .sin_family = AF_INET };
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    T_MUST(bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, 8) == 0);
}

static void poll_it(void)
{
    for (int i = 0; i < 4; i++) {
        pli_progress_once(pli_proc.lanes[0]);
    }
}

// A process calls: our end of its connection.
static int call_as(uint32_t proc)
{
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    int mine = socket(AF_INET, SOCK_STREAM, 0);
    T_MUST(getsockname(listener, (struct sockaddr *)&a, &len) == 0);
    T_MUST(connect(mine, (struct sockaddr *)&a, len) == 0);
    int theirs = accept(listener, NULL, NULL);
    T_MUST(theirs >= 0);
    struct pli_accept_msg msg = { .kind = PLI_ACCEPT_CALL, .proc = proc };
    T_MUST(pli_fdpass_over(accept_sock, &msg, sizeof msg, &theirs, 1, 0) > 0);
    close(theirs);
    poll_it();
    return mine;
}

static int call(uint32_t *proc_out)
{
    *proc_out = next_proc++;
    T_MUST(next_proc < N_WORLD);
    return call_as(*proc_out);
}

static struct pli_frame message(int kind, uint32_t proc, int tag, uint32_t size)
{
    struct pli_frame f = { .kind = (uint8_t)kind, .magic = PLI_FRAME_MAGIC };
    f.src_rank = (int32_t)proc;
    f.tag = tag;
    f.context = CONTEXT_WORLD;
    f.size = size;
    f.len = kind == PLI_MSG_RTS ? 0 : size;
    f.reqid = 77;
    return f;
}

static void put(int fd, const void *p, size_t n, size_t piece)
{
    for (size_t at = 0; at < n; at += piece) {
        size_t len = n - at < piece ? n - at : piece;
        ssize_t done = send(fd, (const char *)p + at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno != EAGAIN) {
            return; // it was closed: that is for the caller to notice
        }
        poll_it();
    }
}

// The next frame that comes back; false: the connection was closed.
static bool get(int fd, struct pli_frame *f)
{
    size_t n = 0;
    for (int i = 0; n < sizeof *f && i < 2000; i++) {
        poll_it();
        ssize_t k = recv(fd, (char *)f + n, sizeof *f - n, MSG_DONTWAIT);
        if (k == 0 || (k < 0 && errno != EAGAIN)) {
            return false;
        }
        n += k > 0 ? (size_t)k : 0;
        if (k < 0) {
            poll(NULL, 0, 1);
        }
    }
    T_OK(n == sizeof *f);
    return n == sizeof *f;
}

static bool is_closed(int fd)
{
    struct pli_frame f;
    int failed = t_failed;
    bool is = !get(fd, &f);
    t_failed = is ? failed : t_failed + 1;
    return is;
}

static void fill(unsigned char *p, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (unsigned char)(seed + i * 7 + (i >> 8));
    }
}

// An eager message cut into pieces of any size, received before or after it comes.
static void eager(size_t piece, uint32_t size, bool is_posted)
{
    static unsigned char out[sizeof(struct pli_frame) + 200000], in[200000], want[200000];
    uint32_t proc;
    int fd = call(&proc);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    struct pli_frame f = message(PLI_MSG_EAGER, proc, 5, size);
    memcpy(out, &f, sizeof f);
    fill(out + sizeof f, size, proc);
    fill(want, size, proc);
    memset(in, 0, sizeof in);
    if (is_posted) {
        T_OK(MPI_Irecv(in, (int)size, MPI_BYTE, (int)proc, 5, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    }
    put(fd, out, sizeof f + size, piece);
    if (!is_posted) {
        T_OK(MPI_Irecv(in, (int)size, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r) == 0);
    }
    T_OK(MPI_Wait(&r, &s) == MPI_SUCCESS);
    int n;
    MPI_Get_count(&s, MPI_BYTE, &n);
    T_EQ(n, size);
    T_EQ(s.MPI_SOURCE, proc);
    T_OK(memcmp(in, want, size) == 0);
    close(fd);
}

// Offer, request, pieces; into a buffer with holes or without.
static void large(bool has_holes)
{
    enum { SIZE = 300000, PIECE = 70000 };
    static unsigned char data[SIZE], in[2 * SIZE];
    uint32_t proc;
    int fd = call(&proc);
    MPI_Datatype type = MPI_BYTE;
    MPI_Request r;
    MPI_Status s;
    struct pli_frame f = message(PLI_MSG_RTS, proc, 6, SIZE), answer;
    if (has_holes) {
        MPI_Type_vector(SIZE / 4, 4, 8, MPI_BYTE, &type);
        MPI_Type_commit(&type);
    }
    fill(data, SIZE, proc);
    memset(in, 0, sizeof in);
    put(fd, &f, sizeof f, 10);
    MPI_Irecv(in, has_holes ? 1 : SIZE, type, (int)proc, 6, MPI_COMM_WORLD, &r);
    T_MUST(get(fd, &answer));
    T_EQ(answer.kind, PLI_MSG_CTS);
    T_EQ(answer.word[0], 77);
    T_EQ(answer.word[2], SIZE);
    for (uint32_t at = 0; at < SIZE; at += PIECE) {
        uint32_t n = SIZE - at < PIECE ? SIZE - at : PIECE;
        struct pli_frame d = { .kind = PLI_MSG_DATA, .magic = PLI_FRAME_MAGIC, .len = n };
        d.word[0] = answer.word[1];
        d.word[1] = at;
        put(fd, &d, sizeof d, sizeof d);
        put(fd, data + at, n, 9000);
    }
    T_OK(MPI_Wait(&r, &s) == MPI_SUCCESS);
    size_t wrong = 0;
    for (size_t i = 0; i < SIZE; i++) {
        wrong += in[has_holes ? i / 4 * 8 + i % 4 : i] != data[i];
    }
    T_EQ(wrong, 0);
    if (has_holes) {
        MPI_Type_free(&type);
    }
    close(fd);
}

// A receiver that asks twice for what it was offered once would have us send it twice at a time.
static void asked_twice(void)
{
    enum { SIZE = 64 << 20 }; // more than the kernel takes
    static unsigned char data[SIZE];
    uint32_t proc;
    int fd = call(&proc), class = 0;
    MPI_Request r;
    struct pli_frame offer, ask = { .kind = PLI_MSG_CTS, .magic = PLI_FRAME_MAGIC };
    MPI_Isend(data, SIZE, MPI_BYTE, (int)proc, 6, MPI_COMM_WORLD, &r);
    T_MUST(get(fd, &offer));
    T_EQ(offer.kind, PLI_MSG_RTS);
    ask.word[0] = offer.reqid;
    ask.word[1] = 5;
    ask.word[2] = SIZE;
    put(fd, &ask, sizeof ask, sizeof ask);
    put(fd, &ask, sizeof ask, sizeof ask);
    MPI_Error_class(MPI_Wait(&r, MPI_STATUS_IGNORE), &class);
    T_EQ(class, MPI_ERR_PROC_ABORTED);
    close(fd);
}

// A process without UCX says so, whatever the other side tells about its own.
static void worker(bool is_cut)
{
    struct {
        struct pli_frame f;
        char address[100];
    } out = { .f = { .kind = PLI_MSG_UCX_ADDRESS, .magic = PLI_FRAME_MAGIC, .len = 100 } };
    uint32_t proc;
    int fd = call(&proc);
    struct pli_frame answer;
    put(fd, &out, sizeof out.f + 100, is_cut ? 30 : 1000);
    T_MUST(get(fd, &answer));
    T_EQ(answer.kind, PLI_MSG_UCX_ADDRESS);
    T_EQ(answer.len, 0);
    close(fd);
}

static void synchronous(void)
{
    uint32_t proc;
    int fd = call(&proc), got = 0;
    struct {
        struct pli_frame f;
        int value;
    } out = { message(PLI_MSG_SYNC, proc, 8, sizeof(int)), 4711 };
    struct pli_frame answer;
    put(fd, &out, sizeof out.f + sizeof(int), 30);
    MPI_Recv(&got, 1, MPI_INT, (int)proc, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    T_EQ(got, 4711);
    T_MUST(get(fd, &answer));
    T_EQ(answer.kind, PLI_MSG_ACK);
    T_EQ(answer.word[0], 77);
    close(fd);
}

// Two connections become one: what comes over the second is older than what follows on the first,
// whichever is read first.
static void merged(void)
{
    struct {
        struct pli_frame f;
        int value;
    } out;
    struct pli_frame note;
    uint32_t proc;
    int first = call(&proc), second = call_as(proc), got = 0;
    T_MUST(get(first, &note));
    T_EQ(note.kind, PLI_MSG_MERGE);
    out.f = message(PLI_MSG_EAGER, proc, 8, sizeof(int));
    for (int i = 1; i <= 3; i++) { // 1 over the old one, then 2 and 3 over the new one
        out.value = i;
        put(i == 1 ? second : first, &out, sizeof out.f + sizeof(int), i == 3 ? 7 : 1000);
    }
    int flag = 1;
    MPI_Recv(&got, 1, MPI_INT, (int)proc, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    T_EQ(got, 1);
    MPI_Iprobe((int)proc, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    T_EQ(flag, 0); // there may be more over the old one
    out.value = 11;
    put(second, &out, sizeof out.f + sizeof(int), 50);
    note = (struct pli_frame){ .kind = PLI_MSG_MOVE, .magic = PLI_FRAME_MAGIC };
    put(second, &note, sizeof note, 5);
    static const int want[] = { 11, 2, 3 };
    for (int i = 0; i < 3; i++) {
        MPI_Recv(&got, 1, MPI_INT, (int)proc, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        T_EQ(got, want[i]);
    }
    T_OK(is_closed(second));
    MPI_Send(&got, 1, MPI_INT, (int)proc, 8, MPI_COMM_WORLD);
    T_MUST(get(first, &note));
    T_EQ(note.kind, PLI_MSG_EAGER);
    close(first);
    close(second);
}

// A peer sends much and is gone before it was read or answered: all of it is received.
static void last_words(void)
{
    enum { N = 250, LEN = 100 };
    static struct {
        struct pli_frame f;
        int v[LEN];
    } out[N];
    uint32_t proc;
    int fd = call(&proc), v[LEN];
    struct pli_frame bye = { .kind = PLI_MSG_BYE, .magic = PLI_FRAME_MAGIC };
    struct linger now = { .l_onoff = 1 };
    for (int i = 0; i < N; i++) {
        out[i].f = message(PLI_MSG_EAGER, proc, 4, sizeof out[i].v);
        out[i].v[0] = i;
        out[i].v[LEN - 1] = ~i;
    }
    T_MUST(sizeof out[0] == sizeof(struct pli_frame) + sizeof v);
    T_MUST(send(fd, out, sizeof out, 0) == (ssize_t)sizeof out);
    T_MUST(send(fd, &bye, sizeof bye, 0) == (ssize_t)sizeof bye);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now); // answers find nobody
    close(fd);
    for (int i = 0; i < N; i++) {
        T_OK(MPI_Recv(v, LEN, MPI_INT, (int)proc, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
        T_OK(v[0] == i && v[LEN - 1] == ~i);
    }
}

// What must never be believed.
static void nonsense(void)
{
    struct pli_frame bad[12];
    size_t n = 0;
    bad[n++] = (struct pli_frame){ .kind = PLI_MSG_EAGER };
    bad[n] = message(PLI_MSG_EAGER, 1, 1, 8);
    bad[n++].size = 9;
    bad[n] = message(PLI_MSG_EAGER, 1, 1, 8);
    bad[n++].src_rank = -1;
    bad[n++] = message(PLI_MSG_EAGER, 1, 1, PLI_FRAME_EAGER_MAX + 1);
    bad[n] = message(PLI_MSG_RTS, 1, 1, 8);
    bad[n++].len = 8;
    for (int kind = PLI_MSG_DATA; kind <= PLI_MSG_ACK; kind++) { // ids that are not in use
        bad[n] = (struct pli_frame){ .kind = (uint8_t)kind, .magic = PLI_FRAME_MAGIC };
        bad[n].word[0] = (uint64_t)1 << 32 | 1;
        bad[n++].len = kind == PLI_MSG_DATA ? 100 : 0;
    }
    bad[n] = (struct pli_frame){ .kind = PLI_MSG_CTS, .magic = PLI_FRAME_MAGIC };
    bad[n++].word[0] = UINT64_MAX;
    bad[n++] = (struct pli_frame){ .kind = PLI_MSG_COPY_HELP, .magic = PLI_FRAME_MAGIC };
    bad[n++] = (struct pli_frame){ .kind = 255, .magic = PLI_FRAME_MAGIC };
    T_MUST(n <= sizeof bad / sizeof bad[0]);
    for (size_t i = 0; i < n; i++) {
        uint32_t proc;
        int fd = call(&proc);
        put(fd, &bad[i], sizeof bad[i], sizeof bad[i]);
        if (!is_closed(fd)) {
            fprintf(stderr, "frame %zu was believed\n", i);
        }
        close(fd);
    }
}

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

// A conversation of all kinds of frames with some bytes changed, in pieces of all sizes.
static void random_changes(void)
{
    static unsigned char out[65536];
    uint32_t proc;
    int fd = call(&proc);
    size_t n = 0;
    MPI_Request r;
    int into[64];
    MPI_Irecv(into, 64, MPI_INT, (int)proc, 9, MPI_COMM_WORLD, &r);
    for (uint32_t i = 0, frames = 1 + draw(8); i < frames; i++) {
        static const int kinds[] = { PLI_MSG_EAGER, PLI_MSG_EAGER, PLI_MSG_SYNC,   PLI_MSG_RTS,
                                     PLI_MSG_DATA,  PLI_MSG_CTS,   PLI_MSG_UNSEND, PLI_MSG_UNSENT,
                                     PLI_MSG_HOLD,  PLI_MSG_BYE,   PLI_MSG_MERGE,  PLI_MSG_MOVE };
        int kind = kinds[draw(sizeof kinds / sizeof kinds[0])];
        // An offer that is matched and then lost takes two seconds to fail: once is enough.
        int tag = (int)draw(kind == PLI_MSG_RTS ? 9 : 12);
        struct pli_frame f = message(kind, proc, tag, draw(2000));
        if (kind > PLI_MSG_RTS) {
            f.len = kind == PLI_MSG_DATA ? draw(100) : 0;
            f.word[0] = (uint64_t)draw(4) << 32 | draw(40);
        }
        memcpy(out + n, &f, sizeof f);
        n += sizeof f;
        memset(out + n, (int)draw(256), f.len);
        n += f.len;
    }
    for (uint32_t i = draw(6); i > 0; i--) {
        out[draw((uint32_t)n)] = (unsigned char)draw(256);
    }
    put(fd, out, n, 1 + draw(draw(2) ? 4000 : 60));
    close(fd);
    poll_it();
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

int main(void)
{
    start_as_rank_0();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    static const size_t pieces[] = { 1, 47, 49, 1000, 300000 };
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        for (int is_posted = 0; is_posted < 2; is_posted++) {
            eager(pieces[i], pieces[i] == 1 ? 100 : 5000, is_posted);
            eager(pieces[i], 0, is_posted);
        }
    }
    eager(20000, 200000, true);
    eager(20000, 200000, false);
    large(false);
    large(true);
    asked_twice();
    worker(false);
    worker(true);
    synchronous();
    merged();
    last_words();
    nonsense();
    for (int i = 0; i < N_FUZZ; i++) {
        random_changes();
    }
    eager(1000, 5000, true); // and all is as it was
    MPI_Finalize();
    return t_status();
}
