/* Threads and processes: each gets a file of its own, and what is executed gets the library. */
#include "record.h"
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Longest list of arguments of execl(3). */
#define WORDS_MAX 4096

struct begun {
    void *(*body)(void *);
    void *argument;
    uint32_t parent;
    uint64_t birth_ns;
};

static void *thread(void *given) {
    struct begun begun = *(struct begun *)given;
    free(given);
    pb_begin_thread(begun.parent, begun.birth_ns);
    return begun.body(begun.argument);
}

PB_API int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*body)(void *),
                          void *argument) {
    PB_NEXT(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct begun *begun = pb_is_on() ? malloc(sizeof *begun) : NULL;
    if (!begun) return next(made, how, body, argument);
    *begun = (struct begun){body, argument, pb_thread(), pb_now()};
    int error = next(made, how, thread, begun);
    if (error) free(begun);
    return error;
}

PB_API pid_t fork(void) {
    PB_NEXT(pid_t, fork, void);
    pb_thread();
    pb_forking(pb_now(), 0);
    pid_t child = next();
    if (child) pb_forking(0, 0);
    return child;
}

/* A child that shares memory would write to its parent's file: that of a clone(2) in place of vfork(2)
 * gets a copy. */
PB_API int clone(int (*body)(void *), void *stack, int flags, void *argument, ...) {
    PB_NEXT(int, clone, int (*)(void *), void *, int, void *, ...);
    va_list rest;
    va_start(rest, argument);
    pid_t *parent = va_arg(rest, pid_t *);
    void *storage = va_arg(rest, void *);
    pid_t *number = va_arg(rest, pid_t *);
    va_end(rest);
    if (!(flags & CLONE_THREAD) && flags & CLONE_VFORK) flags &= ~CLONE_VM;
    pb_thread();
    pb_forking(pb_now(), (uint32_t)flags & (CLONE_FILES | CLONE_FS));
    int child = next(body, stack, flags, argument, parent, storage, number);
    pb_forking(0, 0);
    return child;
}

PB_API int unshare(int flags) {
    PB_NEXT(int, unshare, int);
    uint64_t start = pb_start();
    int done = next(flags);
    pb_record(start, done, &(struct pb_call){.kind = PB_unshare, .flags = (uint32_t)flags});
    return done;
}

/* A child that shares memory would write to its parent's file. */
PB_API pid_t vfork(void) { return fork(); }

static void unseen(const char *path) {
    pb_record(pb_now(), 0, &(struct pb_call){.kind = PB_unseen, .text = path});
}

/* The dynamic linker brings no library into a static program, nor ours into one with more rights. */
static int is_static(const unsigned char *head, long bytes) {
    Elf64_Ehdr elf;
    if (bytes < (long)sizeof elf || memcmp(head, ELFMAG, SELFMAG) || head[EI_CLASS] != ELFCLASS64) return 0;
    memcpy(&elf, head, sizeof elf);
    for (unsigned at = 0; at < elf.e_phnum; at++) {
        Elf64_Phdr part;
        uint64_t place = elf.e_phoff + at * sizeof part;
        if (place + sizeof part > (uint64_t)bytes) return 0;
        memcpy(&part, head + place, sizeof part);
        if (part.p_type == PT_INTERP) return 0;
    }
    return 1;
}

static void look(const char *path) {
    unsigned char head[2048];
    struct stat facts;
    if (!pb_is_on() || !path) return;
    int error = errno;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        long bytes = syscall(SYS_pread64, fd, head, sizeof head, 0);
        int known = syscall(SYS_fstat, fd, &facts) == 0 && S_ISREG(facts.st_mode);
        int gains = known && ((facts.st_mode & S_ISUID && facts.st_uid != getuid()) ||
                              (facts.st_mode & S_ISGID && facts.st_gid != getgid()));
        syscall(SYS_close, fd);
        if (gains || is_static(head, bytes)) unseen(path);
    }
    errno = error;
}

/* Looks in PATH, as execvp(3). */
static void look_in_path(const char *name) {
    const char *places = getenv("PATH");
    if (!pb_is_on() || !name) return;
    if (strchr(name, '/') || !places) return look(name);
    for (const char *place = places; place;) {
        char path[4096];
        const char *end = strchrnul(place, ':');
        snprintf(path, sizeof path, "%.*s/%s", (int)(end - place), place, name);
        if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0) return look(path);
        place = *end ? end + 1 : NULL;
    }
}

static int is_variable(const char *text, const char *name) {
    size_t bytes = strlen(name);
    return strncmp(text, name, bytes) == 0 && text[bytes] == '=';
}

static size_t count(char *const *texts) {
    size_t number = 0;
    while (texts && texts[number]) number++;
    return number;
}

/* The variables with those that make a program record itself, which a caller may leave out. */
struct ours {
    char record[2200], preload[2200];
};

static void with_ours(struct ours *ours, char *const *given, char **to) {
    int has_library = 0, is_on = pb_is_on();
    for (; given && *given; given++) {
        if (is_on && is_variable(*given, "PARABENCH_RECORD")) continue;
        if (is_on && is_variable(*given, "LD_PRELOAD")) {
            if (!strstr(*given, pb_library)) continue;
            has_library = 1;
        }
        *to++ = *given;
    }
    if (is_on && !has_library) {
        snprintf(ours->preload, sizeof ours->preload, "LD_PRELOAD=%s", pb_library);
        *to++ = ours->preload;
    }
    if (is_on) {
        snprintf(ours->record, sizeof ours->record, "PARABENCH_RECORD=%s", pb_told);
        *to++ = ours->record;
    }
    *to = NULL;
}

#define WITH_OURS(given)                                         \
    struct ours ours;                          \
    char *all[count(given) + 3];                                 \
    with_ours(&ours, given, all)

extern char **environ;

PB_API int execve(const char *path, char *const words[], char *const variables[]) {
    PB_NEXT(int, execve, const char *, char *const *, char *const *);
    WITH_OURS(variables);
    look(path);
    return next(path, words, all);
}

PB_API int execv(const char *path, char *const words[]) { return execve(path, words, environ); }

PB_API int execvpe(const char *name, char *const words[], char *const variables[]) {
    PB_NEXT(int, execvpe, const char *, char *const *, char *const *);
    WITH_OURS(variables);
    look_in_path(name);
    return next(name, words, all);
}

PB_API int execvp(const char *name, char *const words[]) { return execvpe(name, words, environ); }

PB_API int fexecve(int fd, char *const words[], char *const variables[]) {
    PB_NEXT(int, fexecve, int, char *const *, char *const *);
    WITH_OURS(variables);
    return next(fd, words, all);
}

PB_API int execveat(int at, const char *path, char *const words[], char *const variables[], int flags) {
    PB_NEXT(int, execveat, int, const char *, char *const *, char *const *, int);
    WITH_OURS(variables);
    return next(at, path, words, all, flags);
}

/* Arguments as an array; `rest` stands behind the first one. */
#define WORDS(first)                                             \
    char *words[WORDS_MAX];                                      \
    int number = 0;                                              \
    va_list rest;                                                \
    va_start(rest, first);                                       \
    words[number] = (char *)first;                               \
    while (words[number] && number < WORDS_MAX - 1) words[++number] = va_arg(rest, char *); \
    words[number] = NULL

PB_API int execl(const char *path, const char *first, ...) {
    WORDS(first);
    va_end(rest);
    return execve(path, words, environ);
}

PB_API int execlp(const char *name, const char *first, ...) {
    WORDS(first);
    va_end(rest);
    return execvpe(name, words, environ);
}

PB_API int execle(const char *path, const char *first, ...) {
    WORDS(first);
    char *const *variables = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, words, variables);
}

#define SPAWN(name, looked)                                                                  \
    PB_API int name(pid_t *made, const char *path, const posix_spawn_file_actions_t *files,  \
                    const posix_spawnattr_t *how, char *const words[], char *const variables[]) { \
        PB_NEXT(int, name, pid_t *, const char *, const posix_spawn_file_actions_t *,        \
                const posix_spawnattr_t *, char *const *, char *const *);                    \
        WITH_OURS(variables);                                                                \
        looked(path);                                                                        \
        pid_t child = 0;                                                                     \
        uint64_t start = pb_start();                                                           \
        int error = next(&child, path, files, how, words, all);                              \
        if (!error) pb_record(start, child, &(struct pb_call){.kind = PB_spawn});            \
        if (made && !error) *made = child;                                                   \
        return error;                                                                        \
    }
SPAWN(posix_spawn, look)
SPAWN(posix_spawnp, look_in_path)
