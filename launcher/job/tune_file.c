// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads the rules that mpiinfo --tune found. mpiexec reads them once and gives them to
// all ranks of the job, so that these choose alike.
#include "launcher/job/tune_file.h"

#include "base/conf.h"
#include "base/text_file.h"
#include "base/tune_rule.h"
#include "boot/cores.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MAX_FILE = 65536 };

int pli_tune_file_cores(void)
{
    return (int)pli_cores_usable();
}

bool pli_tune_file_path(char *out, size_t room)
{
    const char *home = getenv("HOME"), *settings = getenv("XDG_CONFIG_HOME");
    struct utsname u;
    int n = 0;
    if (pli_conf.tune_file[0] != '\0') {
        n = snprintf(out, room, "%s", pli_conf.tune_file);
        return strcmp(pli_conf.tune_file, "none") != 0 && (size_t)n < room;
    }
    if (uname(&u) != 0) {
        return false;
    }
    if (settings != NULL && settings[0] == '/') {
        n = snprintf(out, room, "%s/pliant/tune-%s", settings, u.nodename);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(out, room, "%s/.config/pliant/tune-%s", home, u.nodename);
    }
    return n > 0 && (size_t)n < room;
}

// The folders of a file that are not there yet.
static void make_folders(const char *path)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = strchr(part + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(part, 0777); // one that cannot be made shows when the file is opened
        *at = '/';
    }
}

bool pli_tune_file_write(const char *path, const char *rules)
{
    char fresh[PATH_MAX + 8];
    struct utsname u;
    make_folders(path);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    unlink(fresh); // a link that another user has put there is not followed
    FILE *f = fopen(fresh, "wxe");
    bool is_good = f != NULL && uname(&u) == 0 &&
                   fprintf(f,
                           "%s cores %d %s\n# operation ranks bytes algorithm; see mpiinfo "
                           "--collectives\n%s",
                           PLI_TUNE_RULE_HEAD, pli_tune_file_cores(), u.machine, rules) > 0;
    is_good = f != NULL && fclose(f) == 0 && is_good && rename(fresh, path) == 0;
    if (!is_good) {
        fprintf(stderr, "mpiinfo: cannot write %s: %s\n", path, strerror(errno));
        unlink(fresh);
    }
    return is_good;
}

// The rules behind the first line, if the file is for this host. NULL: why_out says why not.
static char *judge(char *text, char *why_out, size_t room)
{
    int cores;
    char machine[66];
    struct utsname u;
    if (strlen(text) > MAX_FILE) { // rules go to the ranks in their environment
        snprintf(why_out, room, "it has more than %d bytes", MAX_FILE);
        return NULL;
    }
    if (sscanf(text, PLI_TUNE_RULE_HEAD " cores %d %65s", &cores, machine) != 2) {
        snprintf(why_out, room, "it does not begin with '%s'", PLI_TUNE_RULE_HEAD);
        return NULL;
    }
    if (uname(&u) != 0 || strcmp(machine, u.machine) != 0 || cores != pli_tune_file_cores()) {
        snprintf(why_out, room, "it is for %d cores of %s, and there are %d of %s", cores, machine,
                 pli_tune_file_cores(), u.machine);
        return NULL;
    }
    char *rules = strchr(text, '\n');
    rules = rules != NULL ? rules + 1 : text + strlen(text);
    return pli_tune_rule_read(rules, NULL, why_out, room) ? rules : NULL;
}

// Without comments, and with semicolons for ends of lines.
static void compact(char *rules)
{
    char *to = rules;
    for (char *at = rules, *next; *at != '\0'; at = next) {
        size_t len = strcspn(at, "\n");
        next = at + len + (at[len] != '\0');
        if (*at != '#' && len > 0) {
            memmove(to, at, len);
            to += len;
            *to++ = ';';
        }
    }
    *to = '\0';
}

const char *pli_tune_file_read(void)
{
    static char *text;
    static const char *rules;
    static bool was_read;
    char path[PATH_MAX], why[256];
    if (was_read) {
        return rules;
    }
    was_read = true;
    pli_conf_load();
    if (!pli_tune_file_path(path, sizeof path) || access(path, F_OK) != 0) {
        return NULL;
    }
    text = pli_text_file_read(path, why, sizeof why);
    char *found = text != NULL ? judge(text, why, sizeof why) : NULL;
    if (found == NULL) {
        fprintf(stderr,
                "mpiexec: the table %s is not used: %s; mpiinfo --tune measures this host anew\n",
                path, why);
        return NULL;
    }
    compact(found);
    rules = found[0] != '\0' ? found : NULL;
    return rules;
}
