/* syscall(2). Its calls on files are recorded like those of the C library's functions, which they go to; the
 * library's own go to the kernel and are in no log. */
#include "record.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#undef syscall

#define WORDS 6

static long kernel(long number, const long *w) {
    long done;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = w[3];
    register long r8 __asm__("r8") = w[4];
    register long r9 __asm__("r9") = w[5];
    __asm__ volatile("syscall"
                     : "=a"(done)
                     : "a"(number), "D"(w[0]), "S"(w[1]), "d"(w[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = w[0];
    register long x1 __asm__("x1") = w[1];
    register long x2 __asm__("x2") = w[2];
    register long x3 __asm__("x3") = w[3];
    register long x4 __asm__("x4") = w[4];
    register long x5 __asm__("x5") = w[5];
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    done = x0;
#else
#error "the recording library knows x86-64 and aarch64"
#endif
    return done;
}

/* Results of -4095 to -1 are errors. */
static long as_function(long done) {
    if ((unsigned long)done < (unsigned long)-4095L) return done;
    errno = (int)-done;
    return -1;
}

long pb_syscall(long number, long a, long b, long c, long d, long e, long f) {
    return as_function(kernel(number, (long[WORDS]){a, b, c, d, e, f}));
}

static long set_up_ring(const long *w) {
    long done = as_function(kernel(SYS_io_uring_setup, w));
    int error = errno;
    if (done >= 0) {
        struct pb_call made = {.kind = PB_no_file, .fd = (int)done, .fd2 = -1};
        pb_record(pb_start(), done, &made);
        pb_hide("io_uring_setup", 1);
    }
    errno = error;
    return done;
}

static long enter_ring(const long *w) {
    long done = as_function(kernel(SYS_io_uring_enter, w));
    int error = errno;
    if (w[1] > 0) pb_hide("io_uring_enter", done);
    errno = error;
    return done;
}

#define TEXT(word) ((const char *)(word))

/* Words that are not given are left as they are. */
PB_API long syscall(long number, ...) {
    long w[WORDS];
    va_list rest;
    va_start(rest, number);
    for (int at = 0; at < WORDS; at++) w[at] = va_arg(rest, long);
    va_end(rest);
    if (!pb_is_on()) return as_function(kernel(number, w));
    switch (number) {
    case SYS_io_uring_setup: return set_up_ring(w);
    case SYS_io_uring_enter: return enter_ring(w);
    case SYS_io_submit: return as_function(pb_submit(w[0], w[1], (void *)w[2]));
    case SYS_io_getevents:
    case SYS_io_pgetevents:
        return as_function(pb_get_events(number, w[0], w[1], w[2], (void *)w[3], w[4], w[5]));
    case SYS_read: return read((int)w[0], (void *)w[1], (size_t)w[2]);
    case SYS_write: return write((int)w[0], (void *)w[1], (size_t)w[2]);
    case SYS_pread64: return pread64((int)w[0], (void *)w[1], (size_t)w[2], w[3]);
    case SYS_pwrite64: return pwrite64((int)w[0], (void *)w[1], (size_t)w[2], w[3]);
    case SYS_openat: return openat((int)w[0], TEXT(w[1]), (int)w[2], (mode_t)w[3]);
    case SYS_close: return close((int)w[0]);
    case SYS_lseek: return lseek64((int)w[0], w[1], (int)w[2]);
    case SYS_fsync: return fsync((int)w[0]);
    case SYS_fdatasync: return fdatasync((int)w[0]);
    case SYS_ftruncate: return ftruncate64((int)w[0], w[1]);
    case SYS_fallocate: return fallocate64((int)w[0], (int)w[1], w[2], w[3]);
    case SYS_unlinkat: return unlinkat((int)w[0], TEXT(w[1]), (int)w[2]);
    case SYS_mkdirat: return mkdirat((int)w[0], TEXT(w[1]), (mode_t)w[2]);
    case SYS_renameat2: return renameat2((int)w[0], TEXT(w[1]), (int)w[2], TEXT(w[3]), (unsigned)w[4]);
    case SYS_statx: return statx((int)w[0], TEXT(w[1]), (int)w[2], (unsigned)w[3], (void *)w[4]);
    case SYS_getdents64: return getdents64((int)w[0], (void *)w[1], (size_t)w[2]);
    case SYS_copy_file_range:
        return copy_file_range((int)w[0], (void *)w[1], (int)w[2], (void *)w[3], (size_t)w[4], (unsigned)w[5]);
    default: return as_function(kernel(number, w));
    }
}
