/* What the library records, and how it lies in a file: trace::recording reads it.
 *
 *   DIR/PID-TID-BIRTH.rec    one per thread and program: a page for the header, then slots
 *
 * A slot has 64 bytes; names stand in the slots behind it. Its kind is written last, so a
 * reader ends at the first slot without one: a program that is killed loses the call it was in. */
#pragma once
#define _GNU_SOURCE
#include <stdint.h>
#include <stddef.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#define PB_MAGIC 0x0002434552424150ull /* "PABREC", version 2 */
#define PB_HEADER_BYTES 4096

/* Kinds of slots, in the order of trace::functions::KINDS. Those of calls have the call's name. */
#define PB_KINDS(K) \
    K(skip) K(directory) K(shown) K(execute) K(exit) K(spawn) \
    K(open) K(openat) K(creat) K(close) K(close_range) K(dup) K(dup2) K(dup3) K(fcntl_dup) \
    K(fcntl_setfd) K(fcntl_setfl) K(no_file) \
    K(read) K(pread64) K(readv) K(preadv) K(preadv2) \
    K(write) K(pwrite64) K(writev) K(pwritev) K(pwritev2) \
    K(copy_file_range) K(sendfile) K(splice) K(ioctl_clone) \
    K(lseek) K(getdents64) K(fstat) K(stat) K(lstat) K(newfstatat) K(statx) \
    K(ftruncate) K(truncate) K(fallocate) K(fallocate_other) \
    K(fsync) K(fdatasync) K(syncfs) K(sync) K(fadvise64) K(sync_file_range) K(msync) K(mmap) \
    K(fsetxattr) K(fgetxattr) K(flistxattr) K(fremovexattr) \
    K(setxattr) K(getxattr) K(listxattr) K(removexattr) \
    K(fchmod) K(chmod) K(fchmodat) K(futimens) K(utimensat) K(fstatfs) K(statfs) \
    K(access) K(faccessat) K(readlink) K(readlinkat) \
    K(unlink) K(unlinkat) K(rmdir) K(mkdir) K(mkdirat) K(rename) K(renameat) K(renameat2) \
    K(link) K(linkat) K(symlink) K(symlinkat) K(chdir) K(fchdir) \
    K(flock) K(fcntl_lock) K(fchown) K(chown) K(fchownat) K(mknod) \
    K(mpi_open) K(mpi_close) K(mpi_read) K(mpi_write) K(mpi_sync) K(mpi_set_size) \
    K(mpi_preallocate) K(mpi_seek) K(mpi_delete) K(mpi_other) K(unshare) \
    K(mpi_barrier) K(opaque) K(bound)

enum pb_kind {
    PB_NOTHING,
#define K(name) PB_##name,
    PB_KINDS(K)
#undef K
};

/* How a thread came to be. */
enum pb_birth { PB_EXECUTED = 1, PB_FORKED, PB_THREAD };

struct pb_header {
    uint64_t magic;
    uint32_t process, thread;
    uint32_t parent; /* the thread that started it */
    uint32_t birth;  /* enum pb_birth */
    uint64_t birth_ns;
    int64_t epoch_ns; /* from the monotonic clock to the time of day */
    uint32_t streams; /* what streams do is recorded */
    uint32_t shares; /* with its parent: CLONE_FILES, CLONE_FS */
    uint32_t call_ns; /* what recording adds to a call; 0: not measured */
    uint32_t mpi; /* the rank of MPI, which the thread has initialised, and 1; 0: none */
    uint64_t end_ns; /* the thread ended its process; 0: nobody saw that */
};

struct pb_slot {
    uint64_t start_ns, end_ns;
    int64_t value;  /* result */
    int64_t offset; /* -1: none */
    uint64_t bytes;
    int32_t fd, fd2;
    uint32_t flags;
    uint16_t kind, error;
    uint16_t text_bytes, text2_bytes;
    uint32_t waited_us; /* before it, since the slot before */
};
_Static_assert(sizeof(struct pb_slot) == 64, "a slot");
_Static_assert(sizeof(struct pb_header) == 64, "a header");

/* What of a program is lost. */
struct pb_lost {
    uint32_t state; /* enum pb_state */
    uint32_t unused;
    uint64_t calls;    /* that it made and that are not recorded */
    uint64_t programs; /* how often it was executed without the library */
    char name[104];    /* or the end of a long one, up to a zero byte */
};
_Static_assert(sizeof(struct pb_lost) == 128, "what is lost");

enum pb_state { PB_FREE, PB_TAKEN, PB_NAMED };

#define PB_LOST_FILE "lost"
#define PB_LOST_MAX 512

/* What is told of a call; the rest is 0. */
struct pb_call {
    enum pb_kind kind;
    int fd, fd2;
    uint32_t flags;
    int64_t offset;
    uint64_t bytes;
    const char *text, *text2;
    size_t text_bytes, text2_bytes; /* 0: up to its end */
};

/* A call of the kernel that is the library's own. The program's syscall(2) is recorded, ours is not. Each argument is
 * a whole word, and those that are not given are 0: of a plain 0 on the stack half would be left from before. */
long pb_syscall(long number, long a, long b, long c, long d, long e, long f);
#define PB_WORDS(number, a, b, c, d, e, f, ...) \
    pb_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define syscall(...) PB_WORDS(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

#define PB_API __attribute__((visibility("default")))
#define PB_RARE(condition) __builtin_expect(!!(condition), 0)

/* The next definition of a function, called as `next`. */
#define PB_NEXT(result, name, ...)                                       \
    static result (*next)(__VA_ARGS__);                                  \
    if (PB_RARE(!next)) *(void **)&next = pb_next(#name)

void *pb_next(const char *name);
/* Room for so many slots in a row; NULL: there is none. Changes no errno. */
struct pb_slot *pb_reserve_slowly(unsigned slots, enum pb_kind kind);
/* Records a call with names. Keeps errno, which says why it failed if `value` is -1. */
void pb_record(uint64_t start_ns, int64_t value, const struct pb_call *call);
/* The thread that calls begins like this. */
void pb_begin_thread(uint32_t parent, uint64_t birth_ns);
uint32_t pb_thread(void);
/* The thread that calls ends its process. */
void pb_end_process(void);
/* Before and after a fork: when it began, and what the child shares. */
void pb_forking(uint64_t start_ns, uint32_t shares);
int pb_is_on(void);
/* LD_PRELOAD as it was at the start, and what of it is this library. */
extern char pb_library[], pb_file[];
/* PARABENCH_RECORD for a program with this entry in what is lost. */
void pb_tell(char *to, size_t bytes, unsigned entry);
/* Opens what is lost for the program of this name; 0: it cannot be opened. */
int pb_open_lost(const char *folder, const char *name);
/* A program that this one executes can open the log and the library. */
int pb_reaches_log(void);
/* The part of a long name that an entry has room for. */
const char *pb_end_of(const char *name);
/* Counts a call that is not recorded. */
void pb_lose_call(void);
/* Counts a program as not seen; gives its entry, with which it is found. */
unsigned pb_lose_program(const char *name);
void pb_find_program(unsigned entry);
/* Work that was handed to the kernel and whose calls are not seen: so many by this function. */
void pb_hide(const char *function, int64_t count);
/* io_submit(2) and io_getevents(2), recorded; -errno on failure. */
long pb_submit(long context, long count, void *blocks);
long pb_get_events(long number, long context, long least, long most, void *events, long timeout, long mask);
/* Transfers under way are those of the process that this one is a copy of. */
void pb_forget_transfers(void);
/* Lets streams record; 1 if they do. */
int pb_watch_streams(void);
/* The thread is this rank of an MPI job. */
void pb_is_rank(uint32_t rank);
/* Tells what a descriptor stands for. */
void pb_show(int fd);

/* What a thread writes to. */
struct pb_window {
    struct pb_slot *slots;
    unsigned next, limit;
};
extern __thread struct pb_window pb_window __attribute__((tls_model("initial-exec")));
/* A page that the kernel clears in forked processes. */
extern volatile uint32_t *pb_is_ours;

static inline uint64_t pb_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Both clocks when they were last read together, and what the thread has waited since its last slot. */
struct pb_clocks {
    uint64_t now_ns, processor_ns, waited_ns;
};
extern __thread struct pb_clocks pb_clocks __attribute__((tls_model("initial-exec")));
/* The clock of a thread's processor time is a system call: it is read once in so many nanoseconds. */
#define PB_OFTEN_NS 50000u
/* Reads it. `waits`: what went by without a processor was no call's. */
void pb_read_clocks(uint64_t now_ns, int waits);

/* When a call begins. */
static inline uint64_t pb_start(void) {
    uint64_t now_ns = pb_now();
    if (PB_RARE(now_ns - pb_clocks.now_ns > PB_OFTEN_NS)) pb_read_clocks(now_ns, 1);
    return now_ns;
}

/* When it has ended. */
static inline uint64_t pb_end(void) {
    uint64_t now_ns = pb_now();
    if (PB_RARE(now_ns - pb_clocks.now_ns > PB_OFTEN_NS)) pb_read_clocks(now_ns, 0);
    return now_ns;
}

/* What the slot that is written next is told. */
static inline uint32_t pb_waited_us(void) {
    uint64_t waited_us = pb_clocks.waited_ns / 1000;
    pb_clocks.waited_ns = 0;
    return waited_us < UINT32_MAX ? (uint32_t)waited_us : UINT32_MAX;
}

static inline struct pb_slot *pb_reserve(unsigned slots, enum pb_kind kind) {
    struct pb_window *window = &pb_window;
    if (PB_RARE(!*pb_is_ours || window->next + slots > window->limit))
        return pb_reserve_slowly(slots, kind);
    struct pb_slot *slot = window->slots + window->next;
    window->next += slots;
    return slot;
}

/* Records a call on a descriptor without names. */
static inline void pb_on(enum pb_kind kind, uint64_t start_ns, int64_t value, int fd,
                         uint64_t bytes, int64_t offset) {
    uint64_t end_ns = pb_end();
    struct pb_slot *slot = pb_reserve(1, kind);
    if (PB_RARE(!slot)) return;
    slot->start_ns = start_ns;
    slot->end_ns = end_ns;
    slot->value = value;
    slot->offset = offset;
    slot->bytes = bytes;
    slot->fd = fd;
    slot->waited_us = pb_waited_us();
    slot->error = value == -1 ? (uint16_t)errno : 0;
    __atomic_store_n(&slot->kind, (uint16_t)kind, __ATOMIC_RELEASE);
}
