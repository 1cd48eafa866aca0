/* Transfers that are handed over: of libaio as calls of the kernel and by its functions, of POSIX aio, of
 * io_uring. Each writes file W and reads it. */
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BYTES 512
static char data[8][BYTES];

static void check(int is) {
    if (!is) abort();
}

static struct iocb block(int fd, int what, int at) {
    return (struct iocb){.aio_fildes = fd, .aio_lio_opcode = what, .aio_buf = (uintptr_t)data[at],
                         .aio_nbytes = BYTES, .aio_offset = at * BYTES};
}

/* By functions of libaio, where something has them, else by syscall(2). */
static long call(const char *name, long number, long a, long b, long c, long d, long e) {
    long (*function)(long, long, long, long, long) =
        (long (*)(long, long, long, long, long))dlsym(RTLD_DEFAULT, name);
    return function ? (int)function(a, b, c, d, e) : syscall(number, a, b, c, d, e);
}

static void libaio(int fd, int by_functions) {
    aio_context_t context = 0;
    struct io_event events[8];
    struct iovec halves[2] = {{data[5], BYTES / 2}, {data[6], BYTES / 2}};
    struct iocb blocks[5] = {block(fd, IOCB_CMD_PWRITE, 0), block(fd, IOCB_CMD_PWRITE, 1),
                             block(fd, IOCB_CMD_PREAD, 0), block(fd, IOCB_CMD_PREAD, 7),
                             block(fd, IOCB_CMD_PREADV, 1)};
    struct iocb bad = block(999, IOCB_CMD_PREAD, 0);
    struct iocb *list[] = {blocks, blocks + 1, blocks + 2, blocks + 3, blocks + 4, &bad};
    blocks[4].aio_buf = (uintptr_t)halves;
    blocks[4].aio_nbytes = 2;
    check(syscall(SYS_io_setup, 8, &context) == 0);
    const char *submit = by_functions ? "io_submit" : "none", *get = by_functions ? "io_getevents" : "none";
    check(call(submit, SYS_io_submit, context, 2, (long)list, 0, 0) == 2);
    check(call(get, SYS_io_getevents, context, 2, 8, (long)events, 0) == 2);
    /* The last one has no file: it is not taken. */
    check(call(submit, SYS_io_submit, context, 4, (long)(list + 2), 0, 0) == 3);
    check(call(get, SYS_io_getevents, context, 3, 8, (long)events, 0) == 3);
    syscall(SYS_io_destroy, context);
}

static struct aiocb given(int fd, int what, int at) {
    return (struct aiocb){.aio_fildes = fd, .aio_lio_opcode = what, .aio_buf = data[at], .aio_nbytes = BYTES,
                          .aio_offset = at * BYTES, .aio_sigevent.sigev_notify = SIGEV_NONE};
}

static ssize_t result(struct aiocb *block) {
    const struct aiocb *list[] = {block};
    while (aio_error(block) == EINPROGRESS) aio_suspend(list, 1, NULL);
    return aio_return(block);
}

static void posix(int fd) {
    struct aiocb first = given(fd, LIO_WRITE, 0), second = given(fd, LIO_WRITE, 1), third = given(fd, LIO_READ, 1);
    struct aiocb behind = given(fd, LIO_READ, 7), sync = given(fd, 0, 0), bad = given(999, LIO_READ, 0);
    struct aiocb *list[] = {&second, NULL, &third};
    check(aio_write(&first) == 0 && result(&first) == BYTES);
    check(lio_listio(LIO_WAIT, list, 1, NULL) == 0 && lio_listio(LIO_WAIT, list + 1, 2, NULL) == 0);
    check(aio_read(&behind) == 0 && result(&behind) == 0);
    check(aio_fsync(O_SYNC, &sync) == 0 && result(&sync) == 0);
    check(aio_read(&bad) != 0 || result(&bad) == -1);
}

/* Nobody asks what became of it. */
static void unasked(int fd) {
    static struct aiocb first;
    const struct aiocb *list[] = {&first};
    first = given(fd, LIO_WRITE, 0);
    check(aio_write(&first) == 0);
    aio_suspend(list, 1, NULL);
}

static void ring(void) {
    void *library = dlopen("./liburing.so.2", RTLD_NOW | RTLD_GLOBAL);
    int (*submit)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "io_uring_submit");
    check(library && submit && submit(NULL) == 3);
}

static void plain(int fd) {
    check(syscall(SYS_pwrite64, fd, data[0], BYTES, 0) == BYTES);
    check(syscall(SYS_pread64, fd, data[0], BYTES, 0) == BYTES);
    errno = 0;
    check(syscall(SYS_pread64, 999, data[0], BYTES, 0) == -1 && errno == EBADF);
}

int main(int argc, char **argv) {
    int fd = open("w/file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    check(argc == 2 && fd >= 0);
    if (!strcmp(argv[1], "kernel")) libaio(fd, 0);
    if (!strcmp(argv[1], "functions")) libaio(fd, 1);
    if (!strcmp(argv[1], "posix")) posix(fd);
    if (!strcmp(argv[1], "unasked")) unasked(fd);
    if (!strcmp(argv[1], "ring")) ring();
    if (!strcmp(argv[1], "syscall")) plain(fd);
    return close(fd);
}
