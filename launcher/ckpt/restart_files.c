// SPDX-License-Identifier: BSD-3-Clause
// Checks and truncates the files that restored ranks have open. CRIU restores no file that has
// another size than at the dump. A job that goes on after the checkpoint writes to its files, so
// that would be nearly all. What it only reads, such as the program itself, must be as it was.
#include "launcher/ckpt/restart_files.h"

#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/criu_image.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pli_restart_files_is_named(const struct pli_criu_file *file)
{
    static const char *const made[] = { "/proc/", "/sys/" }; // by the kernel
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        if (strncmp(file->name, made[i], strlen(made[i])) == 0) {
            return false;
        }
    }
    return file->has_size && file->name[0] == '/';
}

static bool cut(const struct pli_criu_file *f, uint32_t rank)
{
    if (truncate(f->name, (off_t)f->size) != 0) {
        pli_say("rank %u had %s open, which cannot be cut back to its %" PRIu64
                " bytes of the checkpoint: %s",
                rank, f->name, f->size, strerror(errno));
        return false;
    }
    if (pli_launcher.ckpt->restart.n_truncated++ == 0) {
        snprintf(pli_launcher.ckpt->restart.first_truncated,
                 sizeof pli_launcher.ckpt->restart.first_truncated, "%s", f->name);
    }
    return true;
}

static bool apply_stage(const struct pli_criu_file *f, uint32_t rank, enum pli_restart_stage stage)
{
    struct stat st;
    bool is_read_only = (f->flags & O_ACCMODE) == O_RDONLY;
    if (stat(f->name, &st) != 0) {
        pli_say("rank %u had %s open, which cannot be found: %s", rank, f->name, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size == f->size) {
        return true;
    }
    if ((uint64_t)st.st_size < f->size || (is_read_only && stage == PLI_RESTART_CHECK)) {
        pli_say("rank %u had %s open, with %" PRIu64 " bytes at the checkpoint; it has %" PRIu64
                " now, and %s",
                rank, f->name, f->size, (uint64_t)st.st_size,
                is_read_only ? "a rank goes on only with the file as it was: put it back, or, if "
                               "it is the program and was built anew, start the job from the "
                               "beginning"
                             : "what is missing cannot be made good");
        return false;
    }
    return is_read_only || stage != PLI_RESTART_TRUNCATE || cut(f, rank);
}

bool pli_restart_files(const char *dir, uint32_t rank, enum pli_restart_stage stage)
{
    struct pli_criu_image files, remaps;
    struct pli_criu_bytes record;
    struct pli_criu_file *f = pli_say_need(malloc(sizeof *f));
    pli_criu_image_open(dir, "files.img", &files);
    pli_criu_image_open(dir, "remap-fpath.img", &remaps); // where a file had no name
    bool is_good = true;
    while (is_good && pli_criu_image_record(&files.records, &record)) {
        bool is_meant = pli_criu_image_file(record, f) && pli_restart_files_is_named(f) &&
                        !pli_criu_image_is_remapped(remaps.records, f->id);
        is_good = !is_meant || apply_stage(f, rank, stage);
    }
    free(f);
    pli_criu_image_close(&files);
    pli_criu_image_close(&remaps);
    return is_good;
}

static bool is_program(const char *name)
{
    static const char elf[] = "\177ELF";
    char start[sizeof elf] = "";
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, start, sizeof elf - 1) == (ssize_t)sizeof elf - 1 &&
              strcmp(start, elf) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

// Write the list of files anew, without the sizes of those that may have grown.
static bool write_moved(const struct pli_criu_image *files, struct pli_criu_bytes remaps,
                        uint32_t rank, FILE *to)
{
    struct pli_criu_bytes left = files->records, record;
    struct pli_criu_file *f = pli_say_need(malloc(sizeof *f));
    bool is_good = true;
    fwrite(files->data, 1, (size_t)(files->records.at - files->data), to); // the header
    while (is_good && pli_criu_image_record(&left, &record)) {
        bool is_meant = pli_criu_image_file(record, f) && pli_restart_files_is_named(f) &&
                        !pli_criu_image_is_remapped(remaps, f->id);
        bool is_same = !is_meant || is_program(f->name);
        bool is_checked = is_meant && (is_same || access(f->name, F_OK) != 0);
        is_good = !is_checked || apply_stage(f, rank, PLI_RESTART_CHECK);
        if (is_good && !is_same) {
            is_good = pli_criu_image_put_file_without(to, record, PLI_CRIU_REG_SIZE);
        } else {
            fwrite(record.at - sizeof(uint32_t), 1,
                   sizeof(uint32_t) + (size_t)(record.end - record.at), to);
        }
    }
    free(f);
    return is_good;
}

bool pli_restart_files_moved(const char *dir, uint32_t rank)
{
    struct pli_criu_image files, remaps;
    char path[PATH_MAX + 64];
    pli_criu_image_open(dir, "files.img", &files);
    pli_criu_image_open(dir, "remap-fpath.img", &remaps); // where a file had no name
    snprintf(path, sizeof path, "%s/files.img", dir);
    FILE *to = files.data != NULL ? fopen(path, "we") : NULL;
    bool is_open = to != NULL, is_good = is_open && write_moved(&files, remaps.records, rank, to);
    if (!is_open || fclose(to) != 0) {
        pli_say("rank %u cannot be restored: %s: %s", rank, path, strerror(errno));
        is_good = false;
    }
    pli_criu_image_close(&files);
    pli_criu_image_close(&remaps);
    return is_good;
}

void pli_restart_files_say(void)
{
    if (pli_launcher.ckpt->restart.n_truncated > 0) {
        pli_say("%s has grown since the checkpoint and was cut back to what it was then%s",
                pli_launcher.ckpt->restart.first_truncated,
                pli_launcher.ckpt->restart.n_truncated > 1
                    ? "; so were other files that the ranks write to"
                    : "");
    }
}
