/* Calls on names, and what opens and reads directories. */
#include "record.h"
#include <dirent.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static int64_t named(enum pb_kind kind, uint64_t start, int64_t done, int at, const char *path,
                     uint32_t flags, uint64_t bytes, int64_t offset) {
    pb_record(start, done, &(struct pb_call){.kind = kind, .fd = at, .flags = flags, .bytes = bytes,
                                             .offset = offset, .text = path});
    return done;
}

/* Calls that open have a mode if they may make the file. */
#define MODE(flags)                                     \
    mode_t mode = 0;                                    \
    if (flags & (O_CREAT | __O_TMPFILE)) {              \
        va_list rest;                                   \
        va_start(rest, flags);                          \
        mode = va_arg(rest, mode_t);                    \
        va_end(rest);                                   \
    }

#define OPEN(name)                                                                     \
    PB_API int name(const char *path, int flags, ...) {                                \
        PB_NEXT(int, name, const char *, int, ...);                                    \
        MODE(flags)                                                                    \
        uint64_t start = pb_start();                                                     \
        int fd = next(path, flags, mode);                                              \
        return (int)named(PB_open, start, fd, AT_FDCWD, path, (uint32_t)flags, 0, -1); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                   \
    PB_API int name(int at, const char *path, int flags, ...) {                        \
        PB_NEXT(int, name, int, const char *, int, ...);                               \
        MODE(flags)                                                                    \
        uint64_t start = pb_start();                                                     \
        int fd = next(at, path, flags, mode);                                          \
        return (int)named(PB_openat, start, fd, at, path, (uint32_t)flags, 0, -1);     \
    }
OPENAT(openat)
OPENAT(openat64)

/* A call on a name, which starts at `at`. */
#define ON(result, name, kind, at, path, flags, bytes, given, ...)                     \
    PB_API result name(__VA_ARGS__) {                                                  \
        PB_NEXT(result, name, __VA_ARGS__);                                            \
        uint64_t start = pb_start();                                                     \
        result done = next given;                                                      \
        return (result)named(PB_##kind, start, done, at, path, (uint32_t)(flags), bytes, -1); \
    }
#define HERE(result, name, kind, given, ...) ON(result, name, kind, AT_FDCWD, path, 0, 0, given, __VA_ARGS__)

ON(int, __open_2, open, AT_FDCWD, path, flags, 0, (path, flags), const char *path, int flags)
ON(int, __open64_2, open, AT_FDCWD, path, flags, 0, (path, flags), const char *path, int flags)
ON(int, __openat_2, openat, at, path, flags, 0, (at, path, flags), int at, const char *path, int flags)
ON(int, __openat64_2, openat, at, path, flags, 0, (at, path, flags), int at, const char *path, int flags)
HERE(int, creat, creat, (path, mode), const char *path, mode_t mode)
HERE(int, creat64, creat, (path, mode), const char *path, mode_t mode)
HERE(int, access, access, (path, how), const char *path, int how)
HERE(int, eaccess, access, (path, how), const char *path, int how)
HERE(int, euidaccess, access, (path, how), const char *path, int how)
ON(int, faccessat, faccessat, at, path, 0, 0, (at, path, how, flags), int at, const char *path, int how, int flags)
ON(int, chmod, chmod, AT_FDCWD, path, 0, mode & 07777, (path, mode), const char *path, mode_t mode)
ON(int, lchmod, chmod, AT_FDCWD, path, 0, mode & 07777, (path, mode), const char *path, mode_t mode)
HERE(int, chown, chown, (path, user, group), const char *path, uid_t user, gid_t group)
HERE(int, lchown, chown, (path, user, group), const char *path, uid_t user, gid_t group)
ON(int, fchownat, fchownat, at, path, 0, 0, (at, path, user, group, flags), int at, const char *path, uid_t user, gid_t group, int flags)
HERE(int, utime, utimensat, (path, times), const char *path, const struct utimbuf *times)
HERE(int, utimes, utimensat, (path, times), const char *path, const struct timeval times[2])
HERE(int, lutimes, utimensat, (path, times), const char *path, const struct timeval times[2])
ON(int, futimesat, utimensat, at, path, 0, 0, (at, path, times), int at, const char *path, const struct timeval times[2])
ON(int, utimensat, utimensat, at, path, 0, 0, (at, path, times, flags), int at, const char *path, const struct timespec times[2], int flags)
HERE(int, statfs, statfs, (path, facts), const char *path, struct statfs *facts)
HERE(int, statfs64, statfs, (path, facts), const char *path, struct statfs64 *facts)
HERE(int, statvfs, statfs, (path, facts), const char *path, struct statvfs *facts)
HERE(int, statvfs64, statfs, (path, facts), const char *path, struct statvfs64 *facts)
HERE(int, setxattr, setxattr, (path, name, value, bytes, flags), const char *path, const char *name, const void *value, size_t bytes, int flags)
HERE(int, lsetxattr, setxattr, (path, name, value, bytes, flags), const char *path, const char *name, const void *value, size_t bytes, int flags)
HERE(ssize_t, getxattr, getxattr, (path, name, value, bytes), const char *path, const char *name, void *value, size_t bytes)
HERE(ssize_t, lgetxattr, getxattr, (path, name, value, bytes), const char *path, const char *name, void *value, size_t bytes)
HERE(ssize_t, listxattr, listxattr, (path, names, bytes), const char *path, char *names, size_t bytes)
HERE(ssize_t, llistxattr, listxattr, (path, names, bytes), const char *path, char *names, size_t bytes)
HERE(int, removexattr, removexattr, (path, name), const char *path, const char *name)
HERE(int, lremovexattr, removexattr, (path, name), const char *path, const char *name)
ON(int, truncate, truncate, AT_FDCWD, path, 0, (uint64_t)size, (path, size), const char *path, off_t size)
ON(int, truncate64, truncate, AT_FDCWD, path, 0, (uint64_t)size, (path, size), const char *path, off64_t size)
HERE(int, rmdir, rmdir, (path), const char *path)
HERE(int, mkdir, mkdir, (path, mode), const char *path, mode_t mode)
ON(int, mkdirat, mkdirat, at, path, 0, 0, (at, path, mode), int at, const char *path, mode_t mode)
HERE(int, mknod, mknod, (path, mode, device), const char *path, mode_t mode, dev_t device)
HERE(int, mkfifo, mknod, (path, mode), const char *path, mode_t mode)
HERE(int, chdir, chdir, (path), const char *path)

/* A link is told with the text that was read. */
static ssize_t followed(enum pb_kind kind, uint64_t start, ssize_t done, int at, const char *path, const char *to) {
    int ok = done > 0;
    pb_record(start, done, &(struct pb_call){.kind = kind, .fd = at, .offset = -1, .text = path,
                                             .text2 = ok ? to : NULL, .text2_bytes = ok ? (size_t)done : 0});
    return done;
}

#define READLINK(name, kind, at, given, ...)                            \
    PB_API ssize_t name(__VA_ARGS__) {                                  \
        PB_NEXT(ssize_t, name, __VA_ARGS__);                            \
        uint64_t start = pb_start();                                      \
        ssize_t done = next given;                                      \
        return followed(PB_##kind, start, done, at, path, to);          \
    }
READLINK(readlink, readlink, AT_FDCWD, (path, to, bytes), const char *path, char *to, size_t bytes)
READLINK(__readlink_chk, readlink, AT_FDCWD, (path, to, bytes, room), const char *path, char *to, size_t bytes, size_t room)
READLINK(readlinkat, readlinkat, at, (at, path, to, bytes), int at, const char *path, char *to, size_t bytes)
READLINK(__readlinkat_chk, readlinkat, at, (at, path, to, bytes, room), int at, const char *path, char *to, size_t bytes, size_t room)

/* No call tells how large a file is that is only removed, and removing a large one takes longer. Asked before
 * the call's time begins; -1: no file. */
static int64_t size_before(int at, const char *path) {
    struct statx facts;
    int error = errno;
    long done = pb_is_on() ? syscall(SYS_statx, at, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_SIZE, &facts) : -1;
    errno = error;
    return done == 0 && S_ISREG(facts.stx_mode) ? (int64_t)facts.stx_size : -1;
}

PB_API int unlink(const char *path) {
    PB_NEXT(int, unlink, const char *);
    int64_t size = size_before(AT_FDCWD, path);
    uint64_t start = pb_start();
    int done = next(path);
    return (int)named(PB_unlink, start, done, AT_FDCWD, path, 0, 0, size);
}

PB_API int unlinkat(int at, const char *path, int flags) {
    PB_NEXT(int, unlinkat, int, const char *, int);
    int64_t size = flags & AT_REMOVEDIR ? -1 : size_before(at, path);
    uint64_t start = pb_start();
    int done = next(at, path, flags);
    return (int)named(PB_unlinkat, start, done, at, path, (uint32_t)flags, 0, size);
}

static int changes_links(void) {
    static int known;
    int major = 0, minor = 0;
    if (!known) known = sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 && (major > 2 || minor >= 39) ? 1 : 2;
    return known == 1;
}

/* Before glibc 2.39 several calls stand for the one that follows no link: these. */
static int chmod_at(int at, const char *path, mode_t mode) {
    struct stat facts;
    char name[64];
    int fd = openat(at, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return fd;
    int done = fstatat(fd, "", &facts, AT_EMPTY_PATH);
    if (!done && S_ISLNK(facts.st_mode)) {
        errno = EOPNOTSUPP;
        done = -1;
    } else if (!done) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        done = chmod(name, mode);
    }
    int error = errno;
    close(fd);
    errno = error;
    return done;
}

PB_API int fchmodat(int at, const char *path, mode_t mode, int flags) {
    PB_NEXT(int, fchmodat, int, const char *, mode_t, int);
    if (flags == AT_SYMLINK_NOFOLLOW && !changes_links()) return chmod_at(at, path, mode);
    uint64_t start = pb_start();
    int done = next(at, path, mode, flags);
    return (int)named(PB_fchmodat, start, done, at, path, 0, mode & 07777, -1);
}

/* unlink(2), or rmdir(2) of a directory: both are tried where both were. */
PB_API int remove(const char *path) {
    int done = unlink(path);
    return done && errno == EISDIR ? rmdir(path) : done;
}

static int two(enum pb_kind kind, uint64_t start, int done, int at, const char *path, int at2,
               const char *path2, unsigned flags) {
    pb_record(start, done, &(struct pb_call){.kind = kind, .fd = at, .fd2 = at2, .flags = flags,
                                             .text = path, .text2 = path2});
    return done;
}

#define TWO(name, at, at2, flags, given, ...)                                          \
    PB_API int name(__VA_ARGS__) {                                                     \
        PB_NEXT(int, name, __VA_ARGS__);                                               \
        uint64_t start = pb_start();                                                     \
        int done = next given;                                                         \
        return two(PB_##name, start, done, at, path, at2, path2, (unsigned)(flags));   \
    }
TWO(rename, AT_FDCWD, AT_FDCWD, 0, (path, path2), const char *path, const char *path2)
TWO(renameat, at, at2, 0, (at, path, at2, path2), int at, const char *path, int at2, const char *path2)
TWO(renameat2, at, at2, flags, (at, path, at2, path2, flags), int at, const char *path, int at2, const char *path2, unsigned flags)
TWO(link, AT_FDCWD, AT_FDCWD, 0, (path, path2), const char *path, const char *path2)
TWO(linkat, at, at2, flags, (at, path, at2, path2, flags), int at, const char *path, int at2, const char *path2, int flags)
TWO(symlink, AT_FDCWD, AT_FDCWD, 0, (path, path2), const char *path, const char *path2)
TWO(symlinkat, at2, at2, 0, (path, at2, path2), const char *path, int at2, const char *path2)

static int64_t size_of(int done, const struct stat *facts) {
    return done == 0 && S_ISREG(facts->st_mode) ? (int64_t)facts->st_size : -1;
}

#define STAT(name, kind, type, at, given, ...)                                                 \
    PB_API int name(__VA_ARGS__, struct type *facts) {                                         \
        PB_NEXT(int, name, __VA_ARGS__, struct type *);                                        \
        uint64_t start = pb_start();                                                             \
        int done = next given;                                                                 \
        return (int)named(PB_##kind, start, done, at, path, 0, 0, size_of(done, (const struct stat *)facts)); \
    }
STAT(stat, stat, stat, AT_FDCWD, (path, facts), const char *path)
STAT(stat64, stat, stat64, AT_FDCWD, (path, facts), const char *path)
STAT(lstat, lstat, stat, AT_FDCWD, (path, facts), const char *path)
STAT(lstat64, lstat, stat64, AT_FDCWD, (path, facts), const char *path)
STAT(__xstat, stat, stat, AT_FDCWD, (version, path, facts), int version, const char *path)
STAT(__xstat64, stat, stat64, AT_FDCWD, (version, path, facts), int version, const char *path)
STAT(__lxstat, lstat, stat, AT_FDCWD, (version, path, facts), int version, const char *path)
STAT(__lxstat64, lstat, stat64, AT_FDCWD, (version, path, facts), int version, const char *path)

/* A call that does not follow a link is told as lstat, whatever directory it starts from. */
#define STAT_OF(flags, kind) ((flags) & AT_SYMLINK_NOFOLLOW ? PB_lstat : PB_##kind)

#define STATAT(name, type, given, ...)                                                         \
    PB_API int name(__VA_ARGS__, int at, const char *path, struct type *facts, int flags) {    \
        PB_NEXT(int, name, __VA_ARGS__, int, const char *, struct type *, int);                \
        uint64_t start = pb_start();                                                             \
        int done = next given;                                                                 \
        return (int)named(STAT_OF(flags, newfstatat), start, done, at, path, 0, 0, size_of(done, (const struct stat *)facts)); \
    }
STATAT(__fxstatat, stat, (version, at, path, facts, flags), int version)
STATAT(__fxstatat64, stat64, (version, at, path, facts, flags), int version)

#define FSTATAT(name, type)                                                                    \
    PB_API int name(int at, const char *path, struct type *facts, int flags) {                 \
        PB_NEXT(int, name, int, const char *, struct type *, int);                             \
        uint64_t start = pb_start();                                                             \
        int done = next(at, path, facts, flags);                                               \
        return (int)named(STAT_OF(flags, newfstatat), start, done, at, path, 0, 0, size_of(done, (const struct stat *)facts)); \
    }
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

PB_API int statx(int at, const char *path, int flags, unsigned mask, struct statx *facts) {
    PB_NEXT(int, statx, int, const char *, int, unsigned, struct statx *);
    uint64_t start = pb_start();
    int done = next(at, path, flags, mask, facts);
    int64_t size = done == 0 && S_ISREG(facts->stx_mode) ? (int64_t)facts->stx_size : -1;
    return (int)named(STAT_OF(flags, statx), start, done, at, path, 0, 0, size);
}

/* Temporary files: their names are made by the call. */
#define TEMPORARY(name, extra, given, ...)                                                     \
    PB_API int name(__VA_ARGS__) {                                                             \
        PB_NEXT(int, name, __VA_ARGS__);                                                       \
        uint64_t start = pb_start();                                                             \
        int fd = next given;                                                                   \
        return (int)named(PB_openat, start, fd, AT_FDCWD, path,                                \
                          (uint32_t)(O_RDWR | O_CREAT | O_EXCL | (extra)), 0, -1);             \
    }
TEMPORARY(mkstemp, 0, (path), char *path)
TEMPORARY(mkstemp64, 0, (path), char *path)
TEMPORARY(mkostemp, flags, (path, flags), char *path, int flags)
TEMPORARY(mkostemp64, flags, (path, flags), char *path, int flags)
TEMPORARY(mkstemps, 0, (path, suffix), char *path, int suffix)
TEMPORARY(mkstemps64, 0, (path, suffix), char *path, int suffix)
TEMPORARY(mkostemps, flags, (path, suffix, flags), char *path, int suffix, int flags)
TEMPORARY(mkostemps64, flags, (path, suffix, flags), char *path, int suffix, int flags)

PB_API char *mkdtemp(char *path) {
    PB_NEXT(char *, mkdtemp, char *);
    uint64_t start = pb_start();
    char *done = next(path);
    named(PB_mkdir, start, done ? 0 : -1, AT_FDCWD, path, 0, 0, -1);
    return done;
}

/* The C library opens the directory and asks for its attributes. */
PB_API DIR *opendir(const char *path) {
    PB_NEXT(DIR *, opendir, const char *);
    uint64_t start = pb_start();
    DIR *folder = next(path);
    int fd = folder ? dirfd(folder) : -1;
    named(PB_openat, start, fd, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC, 0, -1);
    if (folder) pb_on(PB_fstat, pb_now(), 0, fd, 0, -1);
    return folder;
}

/* As opendir(3), of a directory that is open. */
PB_API DIR *fdopendir(int fd) {
    PB_NEXT(DIR *, fdopendir, int);
    uint64_t start = pb_start();
    DIR *folder = next(fd);
    pb_on(PB_fstat, start, folder ? 0 : -1, fd, 0, -1);
    return folder;
}

/* At the end of a directory nothing is given, and no error. */
#define READDIR(name, type)                                                            \
    PB_API struct type *name(DIR *folder) {                                            \
        PB_NEXT(struct type *, name, DIR *);                                           \
        int before = errno;                                                            \
        errno = 0;                                                                     \
        uint64_t start = pb_start();                                                     \
        struct type *entry = next(folder);                                             \
        pb_on(PB_getdents64, start, entry ? 1 : errno ? -1 : 0, dirfd(folder), 0, -1); \
        if (entry || !errno) errno = before;                                           \
        return entry;                                                                  \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

PB_API int closedir(DIR *folder) {
    PB_NEXT(int, closedir, DIR *);
    int fd = dirfd(folder);
    uint64_t start = pb_start();
    int done = next(folder);
    pb_on(PB_close, start, done, fd, 0, -1);
    return done;
}

/* A socket in the file system has a name, which bind(2) makes; a failure made none. */
PB_API int bind(int fd, const struct sockaddr *address, socklen_t bytes) {
    PB_NEXT(int, bind, int, const struct sockaddr *, socklen_t);
    uint64_t start = pb_start();
    int done = next(fd, address, bytes);
    if (done != 0 || address->sa_family != AF_UNIX || bytes <= sizeof address->sa_family) return done;
    const struct sockaddr_un *own = (const struct sockaddr_un *)address;
    char name[sizeof own->sun_path + 1] = "";
    size_t room = bytes - offsetof(struct sockaddr_un, sun_path);
    memcpy(name, own->sun_path, room < sizeof own->sun_path ? room : sizeof own->sun_path);
    /* Names that begin with a zero byte are in no file system. */
    if (name[0]) pb_record(start, 0, &(struct pb_call){.kind = PB_bound, .fd = AT_FDCWD, .text = name});
    return done;
}
