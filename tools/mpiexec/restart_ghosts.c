// SPDX-License-Identifier: BSD-3-Clause
// The images of a checkpoint stay as they are. A folder of links stands for them, in which files
// without a name have numbers that no other rank has, nor, most likely, what another restart that
// was killed has left behind.
#include "restart_ghosts.h"

#include "criu_image.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMAPS "remap-fpath.img"
static const char ghost_name[] = "ghost-file-";
enum { GHOST_MODE = 3 }; // field of the first record of an image of such a file

static uint32_t next_number(void)
{
    enum { BITS = 0x3fffffff, FIRST = 0x100000 }; // CRIU has a meaning for the highest bit
    static uint32_t last;
    if (last == 0 && getrandom(&last, sizeof last, 0) != (ssize_t)sizeof last) {
        last = (uint32_t)getpid() << 10;
    }
    last = (last & BITS) < FIRST ? FIRST : (last & BITS) + 1;
    return last;
}

// Old numbers and new ones.
struct numbers {
    struct {
        uint32_t old, fresh;
    } * list;
    size_t n;
};

// The new number of an old one, 0: there is no memory.
static uint32_t renumber(struct numbers *s, uint32_t old)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].old == old) {
            return s->list[i].fresh;
        }
    }
    void *more = realloc(s->list, (s->n + 1) * sizeof *s->list);
    if (more == NULL) {
        return 0;
    }
    s->list = more;
    s->list[s->n].old = old;
    s->list[s->n].fresh = next_number();
    return s->list[s->n++].fresh;
}

static bool link_image(const char *dir, const char *name, const char *to, const char *as)
{
    char from[PATH_MAX + 300], link[PATH_MAX + 300];
    snprintf(from, sizeof from, "%s/%s", dir, name);
    snprintf(link, sizeof link, "%s/%s", to, as);
    return symlink(from, link) == 0;
}

// Links to all images but those of files without a name, and the list of these.
static bool link_others(const char *dir, const char *to)
{
    DIR *d = opendir(dir);
    bool is_good = d != NULL;
    for (struct dirent *e; is_good && (e = readdir(d)) != NULL;) {
        bool is_own = e->d_name[0] == '.' || strcmp(e->d_name, REMAPS) == 0 ||
                      strncmp(e->d_name, ghost_name, sizeof ghost_name - 1) == 0;
        is_good = is_own || link_image(dir, e->d_name, to, e->d_name);
    }
    int error = errno;
    if (d != NULL) {
        closedir(d);
    }
    errno = error;
    return is_good;
}

// One record, with another number for the image of the file.
static void put_record(FILE *to, struct pli_criu_bytes record, uint32_t fresh)
{
    enum { REMAP_GHOST = 2 };
    struct pli_criu_field f;
    char *text = NULL;
    size_t size = 0;
    FILE *m = open_memstream(&text, &size);
    while (m != NULL && pli_criu_image_field(&record, &f)) {
        if (f.inner.at == NULL) { // it has numbers alone
            pli_criu_image_put(m, f.number, f.number == REMAP_GHOST ? fresh : f.value);
        }
    }
    if (m != NULL && fclose(m) == 0) {
        uint32_t len = (uint32_t)size;
        fwrite(&len, sizeof len, 1, to);
        fwrite(text, 1, size, to);
    }
    free(text);
}

static bool write_remaps(const char *dir, const char *to, const struct pli_criu_image *remaps)
{
    char path[PATH_MAX + 64], old[64], fresh[64];
    struct pli_criu_bytes left = remaps->records, record;
    struct pli_criu_remap r;
    struct numbers s = { 0 };
    snprintf(path, sizeof path, "%s/%s", to, REMAPS);
    FILE *f = fopen(path, "wxe");
    bool is_good = f != NULL;
    if (is_good) {
        fwrite(remaps->data, 1, (size_t)(remaps->records.at - remaps->data), f);
    }
    while (is_good && pli_criu_image_record(&left, &record)) {
        pli_criu_image_remap(record, &r);
        size_t before = s.n;
        uint32_t number = r.is_ghost ? renumber(&s, r.ghost) : r.ghost;
        put_record(f, record, number);
        snprintf(old, sizeof old, "%s%x.img", ghost_name, r.ghost);
        snprintf(fresh, sizeof fresh, "%s%x.img", ghost_name, number);
        is_good = s.n == before || link_image(dir, old, to, fresh);
    }
    free(s.list);
    return f != NULL && fclose(f) == 0 && is_good;
}

// Whether a file without a name is a folder.
static bool is_folder(const char *dir, uint32_t ghost)
{
    struct pli_criu_image image;
    struct pli_criu_bytes record;
    struct pli_criu_field f;
    char name[64];
    enum { ENOUGH = 8192 }; // the contents follow
    snprintf(name, sizeof name, "%s%x.img", ghost_name, ghost);
    bool is = pli_criu_image_begin(dir, name, ENOUGH, &image) &&
              pli_criu_image_record(&image.records, &record) &&
              pli_criu_image_find(record, GHOST_MODE, &f) && S_ISDIR((mode_t)f.value);
    pli_criu_image_close(&image);
    return is;
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
    pli_criu_image_open(dir, "files.img", &files);
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
        snprintf(to, PATH_MAX, "%.*s%s", PATH_MAX - 64, work, name != NULL ? name : "/images");
        is_good = mkdir(to, 0700) == 0 && link_others(dir, to) && write_remaps(dir, to, &remaps);
    }
    int error = errno;
    pli_criu_image_close(&remaps);
    pli_criu_image_close(&files);
    errno = error;
    *is_alone_out = is_alone;
    return is_good;
}
