// SPDX-License-Identifier: BSD-3-Clause
// A large run is cut into pieces, which are under way together. What io_uring leaves undone, for
// whatever reason, is done by system calls, which tell what is wrong.
#include "io/file_block.h"

#include "io/file.h"
#include "io/file_map.h"
#include "io/file_sys.h"
#include "io/file_turn.h"
#include "io/file_uring.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE = 1 << 20,
    N_PIECE = 64,         // of a large run, in one ring
    FEW = 4,              // pieces that are not worth a ring
    RESERVED = 256 << 10, // ext4 writes faster where so much space, or more, is there
};

static enum pli_err write_by_turns(const struct pli_file *f, const char *buf, size_t len,
                                   MPI_Offset at, size_t *done_out)
{
    enum pli_err err = PLI_OK;
    *done_out = 0;
    while (*done_out < len && err == PLI_OK) {
        size_t left = len - *done_out, part = left < PLI_FILE_TURN ? left : PLI_FILE_TURN, done;
        pli_file_turn_take(f);
        err = pli_file_sys_write(f->fd, f->name, buf + *done_out, part, at + (MPI_Offset)*done_out,
                                 &done);
        pli_file_turn_give(f);
        *done_out += done;
    }
    return err;
}

// The last byte first: then all is before the end of the file, where pages can be mapped.
static void lengthen(const struct pli_file *f, const char *buf, size_t len, MPI_Offset at)
{
    struct stat s;
    if (fstat(f->fd, &s) == 0 && s.st_size < at + (MPI_Offset)len &&
        pwrite(f->fd, buf + len - 1, 1, at + (MPI_Offset)len - 1) != 1) {
        return; // what is written next tells why
    }
}

bool pli_file_block_store(struct pli_file *f, const char *buf, size_t len, MPI_Offset at)
{
    struct pli_file_map m;
    if (!pli_file_map_open_memory(f, at, at + (MPI_Offset)len, &m)) {
        return false;
    }
    memcpy(m.base + at, buf, len);
    return pli_file_map_close(f, &m);
}

// Memory that is the file is written by one process at a time with system calls, and meanwhile by
// others through mappings. Where that cannot be they wait for their turn, or in the system where
// ranks share cores.
static enum pli_err write_memory(struct pli_file *f, const char *buf, size_t len, MPI_Offset at,
                                 size_t *done_out)
{
    enum pli_err err = PLI_OK;
    if (len > PLI_FILE_TURN) {
        lengthen(f, buf, len, at);
    }
    *done_out = 0;
    while (*done_out < len && err == PLI_OK) {
        size_t left = len - *done_out, done = left < PLI_FILE_TURN ? left : PLI_FILE_TURN;
        MPI_Offset here = at + (MPI_Offset)*done_out;
        bool has_turn = pli_file_turn_try(f);
        if (has_turn || !pli_file_block_store(f, buf + *done_out, done, here)) {
            if (!has_turn && pli_file_turn_is_worth(f, done)) {
                pli_file_turn_take(f);
                has_turn = true;
            }
            err = pli_file_sys_write(f->fd, f->name, buf + *done_out, done, here, &done);
        }
        if (has_turn) {
            pli_file_turn_give(f);
        }
        *done_out += done;
    }
    return err;
}

static enum pli_err move_one(struct pli_file *f, bool is_write, char *buf, size_t len,
                             MPI_Offset at, size_t *done_out)
{
    if (is_write && f->is_memory && pli_file_turn_is_told(f, len)) {
        return write_memory(f, buf, len, at, done_out);
    }
    if (is_write && f->has_large_pages && len >= RESERVED) {
        enum pli_err err = pli_file_sys_reserve(f->fd, f->name, at, at + (MPI_Offset)len);
        if (err != PLI_OK) {
            *done_out = 0;
            return err;
        }
    }
    if (is_write && pli_file_turn_is_worth(f, len)) {
        return write_by_turns(f, buf, len, at, done_out);
    }
    return is_write ? pli_file_sys_write(f->fd, f->name, buf, len, at, done_out)
                    : pli_file_sys_read(f->fd, f->name, buf, len, at, done_out);
}

enum pli_err pli_file_block_pieces(struct pli_file *f, bool is_write, struct pli_file_piece *pieces,
                                   int n, size_t *done_out)
{
    enum pli_err err = PLI_OK;
    bool is_end = false;
    *done_out = 0;
    for (int i = 0; i < n; i++) {
        pieces[i].done = 0;
    }
    if (f->has_uring && n >= FEW) {
        pli_file_uring_move(is_write, f->fd, pieces, n);
    }
    for (int i = 0; i < n && err == PLI_OK && !is_end; i++) {
        struct pli_file_piece *p = &pieces[i];
        size_t more = 0;
        if (p->done < p->len) {
            err = move_one(f, is_write, p->buf + p->done, p->len - p->done,
                           p->at + (MPI_Offset)p->done, &more);
            p->done += more;
        }
        is_end = p->done < p->len;
        *done_out += p->done;
    }
    return err;
}

enum pli_err pli_file_block_move(struct pli_file *f, bool is_write, void *buf, size_t len,
                                 MPI_Offset at, size_t *done_out)
{
    struct pli_file_piece pieces[N_PIECE];
    enum pli_err err = PLI_OK;
    size_t want = 0, done = 0;
    if (!f->has_uring || len < FEW * (size_t)PIECE) {
        return move_one(f, is_write, buf, len, at, done_out);
    }
    *done_out = 0;
    while (*done_out < len && done == want && err == PLI_OK) {
        int n = 0;
        for (want = 0; n < N_PIECE && *done_out + want < len; n++) {
            size_t left = len - *done_out - want, part = left < PIECE ? left : PIECE;
            size_t from = *done_out + want;
            pieces[n] =
                (struct pli_file_piece){ (char *)buf + from, part, at + (MPI_Offset)from, 0 };
            want += part;
        }
        err = pli_file_block_pieces(f, is_write, pieces, n, &done);
        *done_out += done;
    }
    return err;
}
