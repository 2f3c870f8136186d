// SPDX-License-Identifier: BSD-3-Clause
// Gives other names to files without one before ranks are restored. The images of a checkpoint stay
// as they are: a folder of links stands for them, with a list of files of its own, in which those
// without a name had a name that no other rank has, nor, most likely, what another restart that was
// killed has left behind: "NAME.restored-NUMBER".
#include "launcher/ckpt/restart_ghosts.h"

#include "launcher/ckpt/criu_image.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES "files.img"
#define REMAPS "remap-fpath.img"
static const char suffix[] = ".restored-";
enum { GHOST_MODE = 3 };  // field of the first record of an image of such a file
enum { MOST_NAME = 200 }; // CRIU adds to it

static uint32_t next_number(void)
{
    static uint32_t last;
    if (last == 0 && getrandom(&last, sizeof last, 0) != (ssize_t)sizeof last) {
        last = (uint32_t)getpid() << 10;
    }
    return last++;
}

// Where our suffix begins, NULL: the name has none.
static char *suffix_of(char *name)
{
    char *found = NULL;
    for (char *at = name; (at = strstr(at, suffix)) != NULL; at++) {
        found = at;
    }
    const char *end = found != NULL ? found + sizeof suffix - 1 : "";
    while (isxdigit((unsigned char)*end)) {
        end++;
    }
    return found != NULL && *end == '\0' ? found : NULL;
}

// Another name instead of one that may have been made here before.
static void rename_file(struct pli_criu_file *f, uint32_t number)
{
    char name[PATH_MAX], *slash, *old = suffix_of(f->name);
    if (old != NULL) {
        *old = '\0';
    }
    slash = strrchr(f->name, '/');
    if (slash != NULL && strlen(slash + 1) > MOST_NAME) {
        slash[1 + MOST_NAME] = '\0';
    }
    snprintf(name, sizeof name, "%.*s%s%08x", PATH_MAX - 64, f->name, suffix, number);
    memcpy(f->name, name, sizeof name);
}

static bool link_image(const char *dir, const char *name, const char *to)
{
    char from[PATH_MAX + 300], link[PATH_MAX + 300];
    snprintf(from, sizeof from, "%s/%s", dir, name);
    snprintf(link, sizeof link, "%s/%s", to, name);
    return symlink(from, link) == 0;
}

// Links to all images but the list of files.
static bool link_others(const char *dir, const char *to)
{
    DIR *d = opendir(dir);
    bool is_good = d != NULL;
    for (struct dirent *e; is_good && (e = readdir(d)) != NULL;) {
        bool is_own = e->d_name[0] == '.' || strcmp(e->d_name, FILES) == 0;
        is_good = is_own || link_image(dir, e->d_name, to);
    }
    int error = errno;
    if (d != NULL) {
        closedir(d);
    }
    errno = error;
    return is_good;
}

// Whether a file without a name is a folder, which CRIU makes by the name it had.
static bool is_folder(const char *dir, uint32_t ghost)
{
    struct pli_criu_image image;
    struct pli_criu_bytes record;
    struct pli_criu_field f;
    char name[64];
    enum { ENOUGH = 8192 }; // the contents follow
    snprintf(name, sizeof name, "ghost-file-%x.img", ghost);
    bool is = pli_criu_image_begin(dir, name, ENOUGH, &image) &&
              pli_criu_image_record(&image.records, &record) &&
              pli_criu_image_find(record, GHOST_MODE, &f) && S_ISDIR((mode_t)f.value);
    pli_criu_image_close(&image);
    return is;
}

// Whether a file of the list had no name any more.
static bool find_ghost(struct pli_criu_bytes remaps, uint32_t file, struct pli_criu_remap *out)
{
    struct pli_criu_bytes record;
    while (pli_criu_image_record(&remaps, &record)) {
        pli_criu_image_remap(record, out);
        if (out->is_ghost && out->file == file) {
            return true;
        }
    }
    return false;
}

static bool write_list(const char *dir, const char *to, const struct pli_criu_image *files,
                       struct pli_criu_bytes remaps)
{
    char path[PATH_MAX + 64];
    struct pli_criu_bytes left = files->records, record;
    struct pli_criu_remap r;
    struct pli_criu_file *f = malloc(sizeof *f);
    uint32_t number = next_number();
    snprintf(path, sizeof path, "%s/%s", to, FILES);
    FILE *out = f != NULL ? fopen(path, "wxe") : NULL;
    bool is_good = out != NULL;
    if (is_good) {
        fwrite(files->data, 1, (size_t)(files->records.at - files->data), out);
    }
    while (is_good && pli_criu_image_record(&left, &record)) {
        if (pli_criu_image_file(record, f) && find_ghost(remaps, f->id, &r) &&
            !is_folder(dir, r.ghost)) {
            rename_file(f, number);
            const uint8_t *name = (const uint8_t *)f->name;
            struct pli_criu_field as = { .number = PLI_CRIU_REG_NAME,
                                         .inner = { name, name + strlen(f->name) } };
            is_good = pli_criu_image_put_file(out, record, &as);
        } else {
            fwrite(record.at - sizeof(uint32_t), 1,
                   sizeof(uint32_t) + (size_t)(record.end - record.at), out);
        }
    }
    free(f);
    return out != NULL && fclose(out) == 0 && is_good;
}

// Whether the folder that a file was in is gone.
static bool is_homeless(struct pli_criu_bytes files, uint32_t id)
{
    struct pli_criu_bytes record;
    struct pli_criu_file *f = malloc(sizeof *f);
    bool is = f == NULL; // then rather too careful
    while (f != NULL && !is && pli_criu_image_record(&files, &record)) {
        char *slash = pli_criu_image_file(record, f) && f->id == id ? strrchr(f->name, '/') : NULL;
        if (slash != NULL && slash > f->name) {
            *slash = '\0';
            is = access(f->name, F_OK) != 0;
        }
    }
    free(f);
    return is;
}

bool pli_restart_ghosts(const char *dir, const char *work, char to[PATH_MAX], bool *is_alone_out)
{
    struct pli_criu_image remaps, files;
    struct pli_criu_remap r;
    struct pli_criu_bytes record;
    bool is_any = false, is_alone = false;
    pli_criu_image_open(dir, REMAPS, &remaps);
    pli_criu_image_open(dir, FILES, &files);
    for (struct pli_criu_bytes left = remaps.records; pli_criu_image_record(&left, &record);) {
        pli_criu_image_remap(record, &r);
        is_any = is_any || r.is_ghost;
        is_alone = is_alone ||
                   (r.is_ghost && (is_folder(dir, r.ghost) || is_homeless(files.records, r.file)));
    }
    const char *name = strrchr(dir, '/');
    snprintf(to, PATH_MAX, "%s", dir);
    bool is_good = true;
    if (is_any) {
        snprintf(to, PATH_MAX, "%.*s/links.%.32s", PATH_MAX - 64, work,
                 name != NULL ? name + 1 : dir);
        is_good = mkdir(to, 0700) == 0 && link_others(dir, to) &&
                  write_list(dir, to, &files, remaps.records);
    }
    int error = errno;
    pli_criu_image_close(&remaps);
    pli_criu_image_close(&files);
    errno = error;
    *is_alone_out = is_alone;
    return is_good;
}

// All names that CRIU makes of one.
static void remove_names(const char *name, uint32_t ghost)
{
    char path[PATH_MAX + 32];
    unlink(name);
    snprintf(path, sizeof path, "%s.cr_link", name);
    unlink(path);
    snprintf(path, sizeof path, "%s.cr.%x.ghost", name, ghost);
    unlink(path);
}

static void clean_rank(const char *dir)
{
    struct pli_criu_image remaps, files;
    struct pli_criu_bytes record;
    struct pli_criu_remap r;
    struct pli_criu_file *f = malloc(sizeof *f);
    pli_criu_image_open(dir, REMAPS, &remaps);
    pli_criu_image_open(dir, FILES, &files);
    while (f != NULL && pli_criu_image_record(&files.records, &record)) {
        if (pli_criu_image_file(record, f) && f->name[0] == '/' && suffix_of(f->name) != NULL &&
            find_ghost(remaps.records, f->id, &r)) {
            remove_names(f->name, r.ghost);
        }
    }
    free(f);
    pli_criu_image_close(&remaps);
    pli_criu_image_close(&files);
}

void pli_restart_ghosts_clean(const char *work)
{
    DIR *d = opendir(work);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char path[PATH_MAX + 300];
        snprintf(path, sizeof path, "%s/%s", work, e->d_name);
        if (strncmp(e->d_name, "links.", 6) == 0) {
            clean_rank(path);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}
