/* Transfers of libaio and of POSIX aio. One is known when it is handed over and its result when the program
 * asks for it: then it is recorded, by the thread that asks, from the one time to the other. What nobody asks
 * for until the program ends is counted as not recorded.
 *
 * Functions of libaio are calls of the kernel; they are made here, so that a library that was loaded for a
 * module alone need not be found. */
#include "record.h"
#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PLACES 4096u
/* A transfer stands at one of so many places from the first that is its own. */
#define NEAR 64u
#define TAKEN 1u

/* A transfer under way; its key is the address of what the program described it with. */
static struct transfer {
    uint64_t key; /* 0: the place is free; TAKEN: it is being written or read */
    enum pb_kind kind;
    int fd;
    uint64_t bytes, start_ns;
    int64_t offset;
} all[PLACES];
static uint32_t under_way;

static struct transfer *place_of(uint64_t key, unsigned step) {
    return all + ((key >> 6) * 31 + step) % PLACES;
}

/* Takes a place that has `key`, or that is free (0). */
static struct transfer *take(uint64_t key, uint64_t has) {
    for (unsigned step = 0; step < NEAR; step++) {
        struct transfer *place = place_of(key, step);
        uint64_t expected = has;
        if (__atomic_compare_exchange_n(&place->key, &expected, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return place;
    }
    return NULL;
}

static void leave(struct transfer *place) {
    __atomic_store_n(&place->key, 0, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&under_way, 1, __ATOMIC_RELAXED);
}

/* A transfer begins. */
static void hand_over(const void *key, const struct transfer *what) {
    struct transfer *before = take((uint64_t)(uintptr_t)key, (uint64_t)(uintptr_t)key);
    if (before) {
        leave(before);
        pb_lose_call();
    }
    struct transfer *place = take((uint64_t)(uintptr_t)key, 0);
    if (!place) {
        pb_lose_call();
        return;
    }
    place->kind = what->kind;
    place->fd = what->fd;
    place->bytes = what->bytes;
    place->offset = what->offset;
    place->start_ns = what->start_ns;
    __atomic_add_fetch(&under_way, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&place->key, (uint64_t)(uintptr_t)key, __ATOMIC_RELEASE);
}

/* It was refused after all. */
static void take_back(const void *key) {
    struct transfer *place = take((uint64_t)(uintptr_t)key, (uint64_t)(uintptr_t)key);
    if (place) leave(place);
}

/* Its result is known: bytes, or -errno. */
static void settle(const void *key, int64_t result) {
    struct transfer *place = take((uint64_t)(uintptr_t)key, (uint64_t)(uintptr_t)key);
    if (!place) return;
    struct transfer is = *place;
    leave(place);
    int error = errno;
    errno = result < 0 ? (int)-result : 0;
    pb_on(is.kind, is.start_ns, result < 0 ? -1 : result, is.fd, is.bytes, is.offset);
    errno = error;
}

void pb_forget_transfers(void) {
    for (unsigned at = 0; under_way && at < PLACES; at++) all[at].key = 0;
    under_way = 0;
}

/* What a copy of a process has not touched is its parent's. */
__attribute__((destructor)) static void lose_rest(void) {
    if (!pb_is_on() || !*pb_is_ours) return;
    for (; under_way; under_way--) pb_lose_call();
}

/* libaio */

static uint64_t sum(const struct iocb *block) {
    const struct iovec *buffers = (const struct iovec *)(uintptr_t)block->aio_buf;
    uint64_t bytes = 0;
    for (uint64_t at = 0; at < block->aio_nbytes; at++) bytes += buffers[at].iov_len;
    return bytes;
}

/* The transfer of a block; 0: it waits for a descriptor, or is nothing. */
static int describe(const struct iocb *block, struct transfer *to) {
    *to = (struct transfer){.fd = (int)block->aio_fildes, .offset = block->aio_offset, .bytes = block->aio_nbytes};
    switch (block->aio_lio_opcode) {
    case IOCB_CMD_PREAD: to->kind = PB_pread64; return 1;
    case IOCB_CMD_PWRITE: to->kind = PB_pwrite64; return 1;
    case IOCB_CMD_PREADV: to->kind = PB_preadv; to->bytes = sum(block); return 1;
    case IOCB_CMD_PWRITEV: to->kind = PB_pwritev; to->bytes = sum(block); return 1;
    case IOCB_CMD_FSYNC: to->kind = PB_fsync; break;
    case IOCB_CMD_FDSYNC: to->kind = PB_fdatasync; break;
    default: return 0;
    }
    to->offset = -1;
    to->bytes = 0;
    return 1;
}

/* Blocks are described before, as another thread may ask for the results at once. */
long pb_submit(long context, long count, void *given) {
    struct iocb **blocks = given;
    uint64_t start_ns = pb_start();
    int error = errno;
    for (long at = 0; at < count; at++) {
        struct transfer what;
        if (!describe(blocks[at], &what)) continue;
        what.start_ns = start_ns;
        hand_over(blocks[at], &what);
    }
    long done = syscall(SYS_io_submit, context, count, blocks);
    if (done < 0) done = -errno;
    for (long at = done < 0 ? 0 : done; at < count; at++) take_back(blocks[at]);
    errno = error;
    return done;
}

long pb_get_events(long number, long context, long least, long most, void *given, long timeout, long mask) {
    struct io_event *events = given;
    int error = errno;
    long done = syscall(number, context, least, most, events, timeout, mask);
    if (done < 0) done = -errno;
    for (long at = 0; at < done; at++) settle((const void *)(uintptr_t)events[at].obj, events[at].res);
    errno = error;
    return done;
}

PB_API int io_submit(void *context, long count, struct iocb **blocks) {
    return (int)pb_submit((long)context, count, blocks);
}

PB_API int io_getevents(void *context, long least, long most, struct io_event *events, struct timespec *timeout) {
    return (int)pb_get_events(SYS_io_getevents, (long)context, least, most, events, (long)timeout, 0);
}

PB_API int io_pgetevents(void *context, long least, long most, struct io_event *events, struct timespec *timeout,
                         sigset_t *mask) {
    /* The kernel wants the mask with its length. */
    struct { const sigset_t *mask; size_t bytes; } with = {mask, 8};
    return (int)pb_get_events(SYS_io_pgetevents, (long)context, least, most, events, (long)timeout, (long)&with);
}

/* POSIX aio: the C library makes the calls in threads of its own, behind our back. */

static void hand_over_block(const struct aiocb *block, enum pb_kind kind) {
    int is_sync = kind == PB_fsync || kind == PB_fdatasync;
    struct transfer what = {
        .kind = kind,
        .fd = block->aio_fildes,
        .bytes = is_sync ? 0 : block->aio_nbytes,
        .offset = is_sync ? -1 : block->aio_offset,
        .start_ns = pb_start(),
    };
    hand_over(block, &what);
}

#define BEGIN(name, kind, given, ...)                                   \
    PB_API int name(__VA_ARGS__) {                                      \
        PB_NEXT(int, name, __VA_ARGS__);                                \
        if (pb_is_on()) hand_over_block(block, kind);                   \
        int failed = next given;                                        \
        if (failed) take_back(block);                                   \
        return failed;                                                  \
    }
#define SYNC_OF(how) ((how) == O_DSYNC ? PB_fdatasync : PB_fsync)
BEGIN(aio_read, PB_pread64, (block), struct aiocb *block)
BEGIN(aio_write, PB_pwrite64, (block), struct aiocb *block)
BEGIN(aio_fsync, SYNC_OF(how), (how, block), int how, struct aiocb *block)

/* The C library keeps the result: asking for it once more changes nothing. */
static void look_at(const struct aiocb *block, int error) {
    PB_NEXT(ssize_t, aio_return, struct aiocb *);
    if (error == EINPROGRESS) return;
    settle(block, error ? -error : next((struct aiocb *)block));
}

PB_API int aio_error(const struct aiocb *block) {
    PB_NEXT(int, aio_error, const struct aiocb *);
    int error = next(block);
    look_at(block, error);
    return error;
}

PB_API ssize_t aio_return(struct aiocb *block) {
    PB_NEXT(ssize_t, aio_return, struct aiocb *);
    (void)aio_error(block);
    return next(block);
}

PB_API int lio_listio(int mode, struct aiocb *const blocks[], int count, struct sigevent *event) {
    PB_NEXT(int, lio_listio, int, struct aiocb *const *, int, struct sigevent *);
    for (int at = 0; at < count && pb_is_on(); at++) {
        const struct aiocb *block = blocks[at];
        if (!block || block->aio_lio_opcode == LIO_NOP) continue;
        hand_over_block(block, block->aio_lio_opcode == LIO_READ ? PB_pread64 : PB_pwrite64);
    }
    int done = next(mode, blocks, count, event), error = errno;
    for (int at = 0; at < count && mode == LIO_WAIT; at++)
        if (blocks[at]) (void)aio_error(blocks[at]);
    errno = error;
    return done;
}

/* Both sizes of offsets are one on machines of 64 bits. */
#define SAME(name, result, given, ...) \
    PB_API result name##64(__VA_ARGS__) { return name given; }
#define BLOCK ((struct aiocb *)block)
SAME(aio_read, int, (BLOCK), struct aiocb64 *block)
SAME(aio_write, int, (BLOCK), struct aiocb64 *block)
SAME(aio_fsync, int, (how, BLOCK), int how, struct aiocb64 *block)
SAME(aio_error, int, (BLOCK), const struct aiocb64 *block)
SAME(aio_return, ssize_t, (BLOCK), struct aiocb64 *block)
SAME(lio_listio, int, (mode, (struct aiocb *const *)blocks, count, event), int mode, struct aiocb64 *const blocks[], int count, struct sigevent *event)
