/* Calls on descriptors. */
#include "record.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A call whose arguments behind `fd` are given, as it is. */
#define MOVE(result, name, kind, bytes, offset, given, ...)             \
    PB_API result name(__VA_ARGS__) {                                   \
        PB_NEXT(result, name, __VA_ARGS__);                             \
        uint64_t start = pb_start();                                      \
        result done = next given;                                       \
        pb_on(PB_##kind, start, (int64_t)done, fd, bytes, offset);      \
        return done;                                                    \
    }

static uint64_t sum(const struct iovec *buffers, int count) {
    uint64_t bytes = 0;
    for (int at = 0; at < count; at++) bytes += buffers[at].iov_len;
    return bytes;
}

MOVE(ssize_t, read, read, bytes, -1, (fd, to, bytes), int fd, void *to, size_t bytes)
MOVE(ssize_t, __read_chk, read, bytes, -1, (fd, to, bytes, room), int fd, void *to, size_t bytes, size_t room)
MOVE(ssize_t, write, write, bytes, -1, (fd, from, bytes), int fd, const void *from, size_t bytes)
MOVE(ssize_t, pread, pread64, bytes, at, (fd, to, bytes, at), int fd, void *to, size_t bytes, off_t at)
MOVE(ssize_t, pread64, pread64, bytes, at, (fd, to, bytes, at), int fd, void *to, size_t bytes, off64_t at)
MOVE(ssize_t, __pread_chk, pread64, bytes, at, (fd, to, bytes, at, room), int fd, void *to, size_t bytes, off_t at, size_t room)
MOVE(ssize_t, __pread64_chk, pread64, bytes, at, (fd, to, bytes, at, room), int fd, void *to, size_t bytes, off64_t at, size_t room)
MOVE(ssize_t, pwrite, pwrite64, bytes, at, (fd, from, bytes, at), int fd, const void *from, size_t bytes, off_t at)
MOVE(ssize_t, pwrite64, pwrite64, bytes, at, (fd, from, bytes, at), int fd, const void *from, size_t bytes, off64_t at)
MOVE(ssize_t, readv, readv, done < 0 ? 0 : sum(to, count), -1, (fd, to, count), int fd, const struct iovec *to, int count)
MOVE(ssize_t, writev, writev, done < 0 ? 0 : sum(from, count), -1, (fd, from, count), int fd, const struct iovec *from, int count)
MOVE(ssize_t, preadv, preadv, done < 0 ? 0 : sum(to, count), at, (fd, to, count, at), int fd, const struct iovec *to, int count, off_t at)
MOVE(ssize_t, preadv64, preadv, done < 0 ? 0 : sum(to, count), at, (fd, to, count, at), int fd, const struct iovec *to, int count, off64_t at)
MOVE(ssize_t, pwritev, pwritev, done < 0 ? 0 : sum(from, count), at, (fd, from, count, at), int fd, const struct iovec *from, int count, off_t at)
MOVE(ssize_t, pwritev64, pwritev, done < 0 ? 0 : sum(from, count), at, (fd, from, count, at), int fd, const struct iovec *from, int count, off64_t at)
MOVE(ssize_t, preadv2, preadv2, done < 0 ? 0 : sum(to, count), at, (fd, to, count, at, flags), int fd, const struct iovec *to, int count, off_t at, int flags)
MOVE(ssize_t, preadv64v2, preadv2, done < 0 ? 0 : sum(to, count), at, (fd, to, count, at, flags), int fd, const struct iovec *to, int count, off64_t at, int flags)
MOVE(ssize_t, pwritev2, pwritev2, done < 0 ? 0 : sum(from, count), at, (fd, from, count, at, flags), int fd, const struct iovec *from, int count, off_t at, int flags)
MOVE(ssize_t, pwritev64v2, pwritev2, done < 0 ? 0 : sum(from, count), at, (fd, from, count, at, flags), int fd, const struct iovec *from, int count, off64_t at, int flags)
MOVE(off_t, lseek, lseek, 0, at, (fd, at, whence), int fd, off_t at, int whence)
MOVE(off64_t, lseek64, lseek, 0, at, (fd, at, whence), int fd, off64_t at, int whence)
MOVE(int, close, close, 0, -1, (fd), int fd)
MOVE(int, fsync, fsync, 0, -1, (fd), int fd)
MOVE(int, fdatasync, fdatasync, 0, -1, (fd), int fd)
MOVE(int, syncfs, syncfs, 0, -1, (fd), int fd)
MOVE(int, ftruncate, ftruncate, (uint64_t)size, -1, (fd, size), int fd, off_t size)
MOVE(int, ftruncate64, ftruncate, (uint64_t)size, -1, (fd, size), int fd, off64_t size)
MOVE(int, sync_file_range, sync_file_range, 0, -1, (fd, at, bytes, flags), int fd, off64_t at, off64_t bytes, unsigned flags)
MOVE(int, fchmod, fchmod, mode & 07777, -1, (fd, mode), int fd, mode_t mode)
MOVE(int, fchown, fchown, 0, -1, (fd, user, group), int fd, uid_t user, gid_t group)
MOVE(int, flock, flock, 0, -1, (fd, how), int fd, int how)
MOVE(int, fchdir, fchdir, 0, -1, (fd), int fd)
MOVE(int, futimens, futimens, 0, -1, (fd, times), int fd, const struct timespec times[2])
MOVE(int, futimes, futimens, 0, -1, (fd, times), int fd, const struct timeval times[2])
MOVE(int, fstatfs, fstatfs, 0, -1, (fd, facts), int fd, struct statfs *facts)
MOVE(int, fstatfs64, fstatfs, 0, -1, (fd, facts), int fd, struct statfs64 *facts)
MOVE(int, fstatvfs, fstatfs, 0, -1, (fd, facts), int fd, struct statvfs *facts)
MOVE(int, fstatvfs64, fstatfs, 0, -1, (fd, facts), int fd, struct statvfs64 *facts)
MOVE(int, fsetxattr, fsetxattr, 0, -1, (fd, name, value, bytes, flags), int fd, const char *name, const void *value, size_t bytes, int flags)
MOVE(ssize_t, fgetxattr, fgetxattr, 0, -1, (fd, name, value, bytes), int fd, const char *name, void *value, size_t bytes)
MOVE(ssize_t, flistxattr, flistxattr, 0, -1, (fd, names, bytes), int fd, char *names, size_t bytes)
MOVE(int, fremovexattr, fremovexattr, 0, -1, (fd, name), int fd, const char *name)
MOVE(ssize_t, getdents64, getdents64, 0, -1, (fd, to, bytes), int fd, void *to, size_t bytes)

/* They give the number of an error. */
#define BY_NUMBER(name, kind, bytes, flag, given, ...)                                    \
    PB_API int name(__VA_ARGS__) {                                                        \
        PB_NEXT(int, name, __VA_ARGS__);                                                  \
        uint64_t start = pb_start();                                                        \
        int error = next given;                                                           \
        int before = errno;                                                               \
        errno = error;                                                                    \
        pb_on(PB_##kind, start, error ? -1 : 0, fd, bytes, flag);                         \
        errno = before;                                                                   \
        return error;                                                                     \
    }
BY_NUMBER(posix_fadvise, fadvise64, 0, -1, (fd, at, bytes, advice), int fd, off_t at, off_t bytes, int advice)
BY_NUMBER(posix_fadvise64, fadvise64, 0, -1, (fd, at, bytes, advice), int fd, off64_t at, off64_t bytes, int advice)
BY_NUMBER(posix_fallocate, fallocate, (uint64_t)(at + bytes), 0, (fd, at, bytes), int fd, off_t at, off_t bytes)
BY_NUMBER(posix_fallocate64, fallocate, (uint64_t)(at + bytes), 0, (fd, at, bytes), int fd, off64_t at, off64_t bytes)

/* The offset tells whether the size stays (mode 1); other modes are another kind. */
#define FALLOCATE(name, type)                                                                    \
    PB_API int name(int fd, int mode, type at, type bytes) {                                     \
        PB_NEXT(int, name, int, int, type, type);                                                \
        uint64_t start = pb_start();                                                               \
        int done = next(fd, mode, at, bytes);                                                    \
        enum pb_kind kind = mode & ~FALLOC_FL_KEEP_SIZE ? PB_fallocate_other : PB_fallocate;     \
        pb_on(kind, start, done, fd, (uint64_t)(at + bytes), mode);                              \
        return done;                                                                             \
    }
FALLOCATE(fallocate, off_t)
FALLOCATE(fallocate64, off64_t)

static int64_t size_of(int done, const struct stat *facts) {
    return done == 0 && S_ISREG(facts->st_mode) ? (int64_t)facts->st_size : -1;
}

#define FSTAT(name, type)                                                                     \
    PB_API int name(int fd, struct type *facts) {                                             \
        PB_NEXT(int, name, int, struct type *);                                               \
        uint64_t start = pb_start();                                                            \
        int done = next(fd, facts);                                                           \
        pb_on(PB_fstat, start, done, fd, 0, size_of(done, (const struct stat *)facts));       \
        return done;                                                                          \
    }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

/* What programs of before glibc 2.33 call. */
#define FXSTAT(name, type)                                                                    \
    PB_API int name(int version, int fd, struct type *facts) {                                \
        PB_NEXT(int, name, int, int, struct type *);                                          \
        uint64_t start = pb_start();                                                            \
        int done = next(version, fd, facts);                                                  \
        pb_on(PB_fstat, start, done, fd, 0, size_of(done, (const struct stat *)facts));       \
        return done;                                                                          \
    }
FXSTAT(__fxstat, stat)
FXSTAT(__fxstat64, stat64)

static void duplicated(enum pb_kind kind, uint64_t start, int done, int fd, int over, int flags) {
    pb_record(start, done,
              &(struct pb_call){.kind = kind, .fd = fd, .fd2 = over, .flags = (uint32_t)flags});
}

PB_API int dup(int fd) {
    PB_NEXT(int, dup, int);
    uint64_t start = pb_start();
    int done = next(fd);
    duplicated(PB_dup, start, done, fd, -1, 0);
    return done;
}

PB_API int dup2(int fd, int over) {
    PB_NEXT(int, dup2, int, int);
    uint64_t start = pb_start();
    int done = next(fd, over);
    duplicated(PB_dup2, start, done, fd, over, 0);
    return done;
}

PB_API int dup3(int fd, int over, int flags) {
    PB_NEXT(int, dup3, int, int, int);
    uint64_t start = pb_start();
    int done = next(fd, over, flags);
    duplicated(PB_dup3, start, done, fd, over, flags);
    return done;
}

PB_API int close_range(unsigned first, unsigned last, int flags) {
    PB_NEXT(int, close_range, unsigned, unsigned, int);
    uint64_t start = pb_start();
    int done = next(first, last, flags);
    int end = last > INT32_MAX ? INT32_MAX : (int)last;
    duplicated(PB_close_range, start, done, (int)first, end, flags);
    return done;
}

PB_API void closefrom(int first) {
    close_range(first < 0 ? 0 : (unsigned)first, ~0u, 0);
}

static int controlled(uint64_t start, int done, int fd, int command, long value) {
    switch (command) {
    case F_DUPFD: duplicated(PB_fcntl_dup, start, done, fd, -1, 0); break;
    case F_DUPFD_CLOEXEC: duplicated(PB_fcntl_dup, start, done, fd, -1, O_CLOEXEC); break;
    case F_SETFD: duplicated(PB_fcntl_setfd, start, done, fd, -1, value & FD_CLOEXEC); break;
    case F_SETFL: duplicated(PB_fcntl_setfl, start, done, fd, -1, (int)value); break;
    case F_GETFD: case F_GETFL: break;
    default: pb_on(PB_fcntl_lock, start, done, fd, 0, -1);
    }
    return done;
}

#define FCNTL(name)                                                         \
    PB_API int name(int fd, int command, ...) {                             \
        PB_NEXT(int, name, int, int, ...);                                  \
        va_list rest;                                                       \
        va_start(rest, command);                                            \
        long value = va_arg(rest, long);                                    \
        va_end(rest);                                                       \
        uint64_t start = pb_start();                                          \
        return controlled(start, next(fd, command, value), fd, command, value); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* Descriptors of what is no file. */
static int made(uint64_t start, int done, int first, int second) {
    int ok = done >= 0;
    pb_record(start, done, &(struct pb_call){.kind = PB_no_file, .fd = ok ? first : -1, .fd2 = ok ? second : -1});
    return done;
}

#define NO_FILE(name, given, ...)                                       \
    PB_API int name(__VA_ARGS__) {                                      \
        PB_NEXT(int, name, __VA_ARGS__);                                \
        uint64_t start = pb_start();                                      \
        int done = next given;                                          \
        return made(start, done, done, -1);                             \
    }
NO_FILE(socket, (domain, type, protocol), int domain, int type, int protocol)
NO_FILE(accept, (fd, address, bytes), int fd, struct sockaddr *address, socklen_t *bytes)
NO_FILE(accept4, (fd, address, bytes, flags), int fd, struct sockaddr *address, socklen_t *bytes, int flags)
NO_FILE(epoll_create, (size), int size)
NO_FILE(epoll_create1, (flags), int flags)
NO_FILE(eventfd, (value, flags), unsigned value, int flags)
NO_FILE(timerfd_create, (clock, flags), clockid_t clock, int flags)
NO_FILE(inotify_init, (), void)
NO_FILE(inotify_init1, (flags), int flags)
NO_FILE(memfd_create, (name, flags), const char *name, unsigned flags)

PB_API int signalfd(int fd, const sigset_t *mask, int flags) {
    PB_NEXT(int, signalfd, int, const sigset_t *, int);
    uint64_t start = pb_start();
    int done = next(fd, mask, flags);
    return fd == -1 ? made(start, done, done, -1) : done;
}

#define PAIR(name, given, ...)                                          \
    PB_API int name(__VA_ARGS__) {                                      \
        PB_NEXT(int, name, __VA_ARGS__);                                \
        uint64_t start = pb_start();                                      \
        int done = next given;                                          \
        return made(start, done, done ? -1 : pair[0], done ? -1 : pair[1]); \
    }
PAIR(pipe, (pair), int pair[2])
PAIR(pipe2, (pair, flags), int pair[2], int flags)
PAIR(socketpair, (domain, type, protocol, pair), int domain, int type, int protocol, int pair[2])

/* The second offset stands where a name would: eight bytes. */
static ssize_t copied(enum pb_kind kind, uint64_t start, ssize_t done, int from, int64_t from_at,
                      int to, int64_t to_at, size_t bytes) {
    pb_record(start, done,
              &(struct pb_call){.kind = kind, .fd = from, .fd2 = to, .offset = from_at, .bytes = bytes,
                                .text = (const char *)&to_at, .text_bytes = sizeof to_at});
    return done;
}

static int64_t told(const off64_t *at) { return at ? *at : -1; }

#define COPY(name)                                                                             \
    PB_API ssize_t name(int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes,      \
                        unsigned flags) {                                                      \
        PB_NEXT(ssize_t, name, int, off64_t *, int, off64_t *, size_t, unsigned);              \
        int64_t at = told(from_at), other = told(to_at);                                       \
        uint64_t start = pb_start();                                                             \
        ssize_t done = next(from, from_at, to, to_at, bytes, flags);                           \
        return copied(PB_##name, start, done, from, at, to, other, bytes);                     \
    }
COPY(copy_file_range)
COPY(splice)

#define SENDFILE(name, type)                                                                   \
    PB_API ssize_t name(int to, int from, type *at, size_t bytes) {                            \
        PB_NEXT(ssize_t, name, int, int, type *, size_t);                                      \
        int64_t before = told((const off64_t *)at);                                            \
        uint64_t start = pb_start();                                                             \
        ssize_t done = next(to, from, at, bytes);                                              \
        return copied(PB_sendfile, start, done, from, before, to, -1, bytes);                  \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

/* Of all others nothing is told: they are no operations on files, and terminals ask often. */
static int controlled_file(uint64_t start, int done, int fd, unsigned long request, void *given) {
    struct file_clone_range whole = {.src_fd = (int)(intptr_t)given};
    const struct file_clone_range *range = request == FICLONE ? &whole : given;
    /* What cannot be read the kernel has refused. */
    if (range && (done == 0 || request == FICLONE || errno != EFAULT))
        copied(PB_ioctl_clone, start, done, (int)range->src_fd, (int64_t)range->src_offset, fd,
               (int64_t)range->dest_offset, range->src_length);
    return done;
}

PB_API int ioctl(int fd, unsigned long request, ...) {
    PB_NEXT(int, ioctl, int, unsigned long, ...);
    va_list rest;
    va_start(rest, request);
    void *given = va_arg(rest, void *);
    va_end(rest);
    if (request != FICLONE && request != FICLONERANGE) return next(fd, request, given);
    uint64_t start = pb_start();
    return controlled_file(start, next(fd, request, given), fd, request, given);
}

/* Allocators map memory before other functions can be looked for. */
#define MMAP(name, type)                                                                       \
    PB_API void *name(void *at, size_t bytes, int rights, int flags, int fd, type offset) {    \
        int is_file = fd >= 0 && !(flags & MAP_ANONYMOUS);                                     \
        uint64_t start = is_file ? pb_start() : 0;                                               \
        void *done = (void *)syscall(SYS_mmap, at, bytes, rights, flags, fd, offset);          \
        if (is_file) pb_on(PB_mmap, start, done == MAP_FAILED ? -1 : 0, fd, bytes, offset);    \
        return done;                                                                           \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

PB_API int msync(void *at, size_t bytes, int flags) {
    PB_NEXT(int, msync, void *, size_t, int);
    uint64_t start = pb_start();
    int done = next(at, bytes, flags);
    pb_on(PB_msync, start, done, -1, bytes, -1);
    return done;
}

PB_API void sync(void) {
    PB_NEXT(void, sync, void);
    uint64_t start = pb_start();
    next();
    pb_on(PB_sync, start, 0, -1, 0, -1);
}
