/* Streams of stdio. What fopen(3) gives reads and writes inside the C library, where no function
 * can be put in between. But all streams of files call the same table of functions to move bytes:
 * its entries are put in here, each checked to be the one that is expected. What is recorded are
 * the calls that the buffers make, not each fputc(3). */
#include "record.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __GLIBC__
/* Places in the table, the same since glibc 2.1. */
enum { READ = 14, WRITE, SEEK, CLOSE, STAT };
static const char *const NAMES[] = {"_IO_file_read", "_IO_file_write", "_IO_file_seek",
                                    "_IO_file_close", "_IO_file_stat"};

static int number_of(FILE *stream);

static ssize_t (*next_read)(FILE *, void *, ssize_t);
static ssize_t (*next_write)(FILE *, const void *, ssize_t);
static off64_t (*next_seek)(FILE *, off64_t, int);
static int (*next_close)(FILE *);
static int (*next_stat)(FILE *, void *);

static ssize_t stream_read(FILE *stream, void *buffer, ssize_t bytes) {
    uint64_t start = pb_start();
    ssize_t done = next_read(stream, buffer, bytes);
    pb_on(PB_read, start, done, stream->_fileno, (uint64_t)bytes, -1);
    return done;
}

static ssize_t stream_write(FILE *stream, const void *buffer, ssize_t bytes) {
    uint64_t start = pb_start();
    ssize_t done = next_write(stream, buffer, bytes);
    /* It goes on until all is written, and gives what was: nothing is an error. */
    pb_on(PB_write, start, done || !bytes ? done : -1, stream->_fileno, (uint64_t)bytes, -1);
    return done;
}

static off64_t stream_seek(FILE *stream, off64_t offset, int whence) {
    int fd = number_of(stream);
    uint64_t start = pb_start();
    off64_t at = next_seek(stream, offset, whence);
    pb_on(PB_lseek, start, at, fd, 0, offset);
    return at;
}

static int stream_close(FILE *stream) {
    int fd = stream->_fileno;
    uint64_t start = pb_start();
    int result = next_close(stream);
    pb_on(PB_close, start, result, fd, 0, -1);
    return result;
}

/* Before its first transfer a stream asks for the size of blocks. It may be one that the C library
 * has opened for itself. */
static int stream_stat(FILE *stream, void *facts) {
    number_of(stream);
    pb_show(stream->_fileno);
    uint64_t start = pb_start();
    int result = next_stat(stream, facts);
    const struct stat *told = facts;
    int64_t size = result == 0 && S_ISREG(told->st_mode) ? (int64_t)told->st_size : -1;
    pb_on(PB_fstat, start, result, stream->_fileno, 0, size);
    return result;
}

/* The table is the expected one. */
static int is_known(void *const *table) {
    for (int entry = READ; entry <= STAT; entry++)
        if (table[entry] != dlsym(RTLD_NEXT, NAMES[entry - READ])) return 0;
    return 1;
}

static int put_in(void **table) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)(table + READ);
    uintptr_t start = from & ~(page - 1), end = (uintptr_t)(table + STAT + 1);
    size_t bytes = ((end + page - 1) & ~(page - 1)) - start;
    if (mprotect((void *)start, bytes, PROT_READ | PROT_WRITE)) return 0;
    table[READ] = (void *)stream_read;
    table[WRITE] = (void *)stream_write;
    table[SEEK] = (void *)stream_seek;
    table[CLOSE] = (void *)stream_close;
    table[STAT] = (void *)stream_stat;
    mprotect((void *)start, bytes, PROT_READ);
    return 1;
}

int pb_watch_streams(void) {
    /* The table's address stands behind each stream. */
    void **table = *(void ***)((char *)stdout + sizeof(FILE));
    void **wide = dlsym(RTLD_NEXT, "_IO_wfile_jumps");
    if (!table || !is_known(table)) return 0;
    memcpy(&next_read, table + READ, sizeof(void *));
    memcpy(&next_write, table + WRITE, sizeof(void *));
    memcpy(&next_seek, table + SEEK, sizeof(void *));
    memcpy(&next_close, table + CLOSE, sizeof(void *));
    memcpy(&next_stat, table + STAT, sizeof(void *));
    if (wide && is_known(wide)) put_in(wide);
    return put_in(table);
}
#else
int pb_watch_streams(void) { return 0; }
#endif

/* Flags of open(2) for a mode of fopen(3). */
static uint32_t flags_of(const char *mode) {
    uint32_t flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT;
    flags |= mode[0] == 'w' ? O_TRUNC : mode[0] == 'a' ? O_APPEND : 0;
    for (const char *letter = mode + 1; *letter && *letter != ','; letter++) {
        if (*letter == '+') flags = (flags & ~(uint32_t)O_ACCMODE) | O_RDWR;
        if (*letter == 'x') flags |= O_EXCL;
        if (*letter == 'e') flags |= O_CLOEXEC;
    }
    return flags;
}

/* The call that opens and has not returned; path: NULL once it is told. `before`: the descriptor whose place
 * it takes; -1: none. */
struct opening {
    uint64_t start;
    const char *path, *mode;
    int before;
};
static __thread struct opening *opening __attribute__((tls_model("initial-exec")));

/* Streams that append go to the end of the file before fopen(3) returns: the opening comes first. */
static void tell_opening(int fd) {
    struct opening *now = opening;
    if (!now || !now->path) return;
    if (now->before >= 0) pb_on(PB_close, now->start, 0, now->before, 0, -1);
    pb_record(now->start, fd,
              &(struct pb_call){.kind = PB_openat, .fd = AT_FDCWD, .flags = flags_of(now->mode), .text = now->path});
    now->path = NULL;
}

#ifdef __GLIBC__
/* The descriptor of a stream. Where freopen(3) has opened another one, it takes the place of the first. */
static int number_of(FILE *stream) {
    int fd = stream->_fileno;
    if (!opening || fd == opening->before) return fd;
    if (opening->before >= 0) fd = opening->before;
    tell_opening(fd);
    return fd;
}
#endif

static void opened(FILE *stream) {
    tell_opening(stream ? fileno(stream) : -1);
    opening = NULL;
}

#define FOPEN(name)                                              \
    PB_API FILE *name(const char *path, const char *mode) {      \
        PB_NEXT(FILE *, name, const char *, const char *);       \
        struct opening now = {pb_start(), path, mode, -1};         \
        opening = &now;                                          \
        FILE *stream = next(path, mode);                         \
        opened(stream);                                          \
        return stream;                                           \
    }
FOPEN(fopen)
FOPEN(fopen64)

/* The descriptor of before is closed, and mostly given again. */
#define FREOPEN(name)                                                               \
    PB_API FILE *name(const char *path, const char *mode, FILE *stream) {           \
        PB_NEXT(FILE *, name, const char *, const char *, FILE *);                  \
        int before = fileno(stream);                                                \
        struct opening now = {pb_start(), path, mode, before};                        \
        opening = &now;                                                             \
        FILE *again = next(path, mode, stream);                                     \
        opened(again);                                                              \
        return again;                                                               \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

#define TMPFILE(name)                                                                     \
    PB_API FILE *name(void) {                                                             \
        PB_NEXT(FILE *, name, void);                                                      \
        uint64_t start = pb_start();                                                        \
        FILE *stream = next();                                                            \
        pb_record(start, stream ? fileno(stream) : -1,                                    \
                  &(struct pb_call){.kind = PB_openat, .fd = AT_FDCWD,                    \
                                    .flags = O_RDWR | O_EXCL | O_TMPFILE, .text = "/tmp"}); \
        return stream;                                                                    \
    }
TMPFILE(tmpfile)
TMPFILE(tmpfile64)
