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

PB_API void _exit(int status) {
    pb_end_process();
    for (;;) syscall(SYS_exit_group, status);
}

PB_API void _Exit(int status) { _exit(status); }

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

/* A program as execveat(2) has it. */
struct program {
    int at;
    const char *path;
};

/* The library surely does not get into it. */
static int is_closed(const struct program *program) {
    unsigned char head[2048];
    struct stat facts;
    int fd = (int)syscall(SYS_openat, program->at, program->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return 0;
    long bytes = syscall(SYS_pread64, fd, head, sizeof head, 0);
    int known = syscall(SYS_fstat, fd, &facts) == 0 && S_ISREG(facts.st_mode);
    int gains = known && ((facts.st_mode & S_ISUID && facts.st_uid != getuid()) ||
                          (facts.st_mode & S_ISGID && facts.st_gid != getgid()));
    syscall(SYS_close, fd);
    return gains || is_static(head, bytes);
}

/* The name of what is open, or of what lies below it. */
static const char *name_of(const struct program *program, char *name, size_t bytes) {
    char link[64];
    if (program->at == AT_FDCWD || program->path[0] == '/') return program->path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", program->at);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, name, bytes - 1);
    if (length <= 0) return program->path;
    name[length] = 0;
    if (program->path[0]) snprintf(name + length, bytes - (size_t)length, "/%s", program->path);
    return name;
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

static const char *as_it_is(const char *path, char *found, size_t bytes) {
    (void)found, (void)bytes;
    return path;
}

/* Looks in PATH, as execvp(3). */
static const char *in_path(const char *name, char *found, size_t bytes) {
    const char *places = getenv("PATH");
    if (!pb_is_on() || !name || strchr(name, '/') || !places) return name;
    for (const char *place = places; place;) {
        const char *end = strchrnul(place, ':');
        snprintf(found, bytes, "%.*s%s%s", (int)(end - place), place, end > place ? "/" : "", name);
        if (syscall(SYS_faccessat, AT_FDCWD, found, X_OK) == 0) return found;
        place = *end ? end + 1 : NULL;
    }
    return name;
}

/* An execution: the variables that let the program record itself, which a caller may leave out, and its
 * entry in what is lost. */
struct execution {
    char record[2200], preload[2200];
    int is_open; /* the program can open log and library */
    unsigned entry;
};

/* Begins one. Until the program says that it is there, it counts as not seen. */
static void begin(struct execution *this, int at, const char *path) {
    char name[4096], link[64];
    struct program program = {at, path};
    if (!pb_is_on() || !path) return;
    int error = errno;
    this->is_open = pb_reaches_log();
    this->entry = pb_lose_program(name_of(&program, name, sizeof name));
    if (!path[0]) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        program.path = link;
    }
    /* Its entry, or none: others that it executes do not count for it. */
    pb_tell(this->record, sizeof this->record, is_closed(&program) ? PB_LOST_MAX : this->entry);
    errno = error;
}

/* It has failed. */
static void fail(const struct execution *this, const char *path) {
    if (pb_is_on() && path) pb_find_program(this->entry);
}

/* Copies a list of libraries without ours; gives its length. The dynamic linker complains about what it
 * cannot open. */
static size_t leave_out(const char *list, char *to, size_t bytes) {
    const char *ours = strstr(list, pb_file);
    size_t before = ours ? (size_t)(ours - list) : strlen(list);
    const char *rest = ours ? ours + strlen(pb_file) : "";
    size_t length = before + strlen(rest += *rest == ':' || *rest == ' ');
    if (length >= bytes) return 0;
    memmove(to, list, before);
    memmove(to + before, rest, strlen(rest) + 1);
    return length;
}

#define PRELOAD "LD_PRELOAD="

static void with_ours(struct execution *this, char *const *given, char **to) {
    int has_library = 0, is_on = pb_is_on();
    for (; given && *given; given++) {
        char *variable = *given;
        if (is_on && is_variable(variable, "PARABENCH_RECORD")) continue;
        if (is_on && is_variable(variable, "LD_PRELOAD")) {
            if (this->is_open && !strstr(variable, pb_library)) continue;
            has_library = 1;
            if (!this->is_open && strstr(variable, pb_file)) {
                size_t length = leave_out(variable, this->preload, sizeof this->preload);
                if (length <= strlen(PRELOAD)) continue;
                variable = this->preload;
            }
        }
        *to++ = variable;
    }
    if (is_on && this->is_open && !has_library) {
        snprintf(this->preload, sizeof this->preload, PRELOAD "%s", pb_library);
        *to++ = this->preload;
    }
    if (is_on && this->is_open) *to++ = this->record;
    *to = NULL;
}

#define BEGIN(at, path, given)                                   \
    struct execution this = {.is_open = 0};                      \
    char *all[count(given) + 3];                                 \
    begin(&this, at, path);                                      \
    with_ours(&this, given, all)

extern char **environ;

PB_API int execve(const char *path, char *const words[], char *const variables[]) {
    PB_NEXT(int, execve, const char *, char *const *, char *const *);
    BEGIN(AT_FDCWD, path, variables);
    int failed = next(path, words, all);
    fail(&this, path);
    return failed;
}

PB_API int execv(const char *path, char *const words[]) { return execve(path, words, environ); }

PB_API int execvpe(const char *name, char *const words[], char *const variables[]) {
    PB_NEXT(int, execvpe, const char *, char *const *, char *const *);
    char found[4096];
    BEGIN(AT_FDCWD, in_path(name, found, sizeof found), variables);
    int failed = next(name, words, all);
    fail(&this, name);
    return failed;
}

PB_API int execvp(const char *name, char *const words[]) { return execvpe(name, words, environ); }

PB_API int fexecve(int fd, char *const words[], char *const variables[]) {
    PB_NEXT(int, fexecve, int, char *const *, char *const *);
    BEGIN(fd, "", variables);
    int failed = next(fd, words, all);
    fail(&this, "");
    return failed;
}

PB_API int execveat(int at, const char *path, char *const words[], char *const variables[], int flags) {
    PB_NEXT(int, execveat, int, const char *, char *const *, char *const *, int);
    BEGIN(at, path, variables);
    int failed = next(at, path, words, all, flags);
    fail(&this, path);
    return failed;
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

#define SPAWN(name, found_in)                                                                \
    PB_API int name(pid_t *made, const char *path, const posix_spawn_file_actions_t *files,  \
                    const posix_spawnattr_t *how, char *const words[], char *const variables[]) { \
        PB_NEXT(int, name, pid_t *, const char *, const posix_spawn_file_actions_t *,        \
                const posix_spawnattr_t *, char *const *, char *const *);                    \
        char found[4096];                                                                    \
        BEGIN(AT_FDCWD, found_in(path, found, sizeof found), variables);                     \
        pid_t child = 0;                                                                     \
        uint64_t start = pb_start();                                                         \
        int error = next(&child, path, files, how, words, all);                              \
        if (!error) pb_record(start, child, &(struct pb_call){.kind = PB_spawn});            \
        if (error) fail(&this, path);                                                        \
        if (made && !error) *made = child;                                                   \
        return error;                                                                        \
    }
SPAWN(posix_spawn, as_it_is)
SPAWN(posix_spawnp, in_path)

/* The C library executes a shell by itself, with the variables as they are. */
static void lose_shell(void) {
    char *list = getenv("LD_PRELOAD");
    int has_ours = list && strstr(list, pb_file) && getenv("PARABENCH_RECORD");
    if (!pb_is_on() || (has_ours && pb_reaches_log())) return;
    pb_lose_program("/bin/sh");
    if (list) leave_out(list, list, strlen(list) + 1);
}

PB_API int system(const char *command) {
    PB_NEXT(int, system, const char *);
    int error = errno;
    if (command) lose_shell();
    errno = error;
    return next(command);
}

PB_API FILE *popen(const char *command, const char *mode) {
    PB_NEXT(FILE *, popen, const char *, const char *);
    int error = errno;
    lose_shell();
    errno = error;
    return next(command, mode);
}
