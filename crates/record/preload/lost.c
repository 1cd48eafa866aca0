/* What is lost, by program: one file for a whole recording, which `parabench record` makes. A process
 * has it in memory from its start, and so have its copies: they can count what they lose when they may no
 * longer open files, have no room for any, or see another root directory.
 *
 * Programs are counted as not seen when they are executed; once the library is in them, they take it
 * back. What never does was executed without the library, whatever the reason. */
#include "record.h"
#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A program whose name is not known, and those for which there is no entry. */
#define NAMELESS "?"
#define OTHERS "others"

static struct pb_lost *entries;
static char path[2100], program[sizeof entries->name];
/* The entry of this program, and 1; 0: it has lost nothing. */
static unsigned own;

int pb_open_lost(const char *folder, const char *name) {
    snprintf(path, sizeof path, "%s/" PB_LOST_FILE, folder);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return 0;
    void *at = (void *)syscall(SYS_mmap, NULL, PB_LOST_MAX * sizeof(struct pb_lost),
                               PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (at == MAP_FAILED) return 0;
    entries = at;
    /* Some programs write over their arguments later. */
    snprintf(program, sizeof program, "%s", pb_end_of(name));
    return 1;
}

int pb_reaches_log(void) {
    const char *const needed[] = {path, pb_file};
    const int flags[] = {O_RDWR, O_RDONLY};
    for (int at = 0; at < 2; at++) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, needed[at], flags[at] | O_CLOEXEC);
        /* What a program executes may have more descriptors left than it has itself. */
        if (fd < 0) return errno == EMFILE || errno == ENFILE;
        syscall(SYS_close, fd);
    }
    return 1;
}

const char *pb_end_of(const char *name) {
    size_t bytes = strlen(name), room = sizeof program - 1;
    return bytes > room ? name + (bytes - room) : name;
}

/* The entry is that of the name, which it gets if it is free. */
static int is_of(struct pb_lost *entry, const char *name) {
    uint32_t expected = PB_FREE;
    if (__atomic_compare_exchange_n(&entry->state, &expected, PB_TAKEN, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        snprintf(entry->name, sizeof entry->name, "%s", name);
        __atomic_store_n(&entry->state, PB_NAMED, __ATOMIC_RELEASE);
        return 1;
    }
    /* One that is just being named is passed over: a name may have two entries. */
    return expected == PB_NAMED && strcmp(entry->name, name) == 0;
}

static unsigned find(const char *name) {
    name = name && *name ? pb_end_of(name) : NAMELESS;
    for (unsigned at = 0; at < PB_LOST_MAX - 1; at++)
        if (is_of(entries + at, name)) return at;
    is_of(entries + PB_LOST_MAX - 1, OTHERS);
    return PB_LOST_MAX - 1;
}

void pb_lose_call(void) {
    if (!own) own = find(program) + 1;
    __atomic_add_fetch(&entries[own - 1].calls, 1, __ATOMIC_RELAXED);
}

unsigned pb_lose_program(const char *name) {
    unsigned at = find(name);
    __atomic_add_fetch(&entries[at].programs, 1, __ATOMIC_RELAXED);
    return at;
}

void pb_find_program(unsigned at) {
    if (at >= PB_LOST_MAX) return;
    uint64_t *programs = &entries[at].programs;
    uint64_t before = __atomic_load_n(programs, __ATOMIC_RELAXED);
    while (before && !__atomic_compare_exchange_n(programs, &before, before - 1, 0, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED)) {}
}
