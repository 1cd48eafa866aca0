/* io_uring. What a program submits lies in memory that it shares with the kernel, and the results come back
 * there: no function is called for them. What is handed over is counted, so that nobody calls the
 * recording complete. */
#include "record.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void pb_hide(const char *function, int64_t count) {
    if (count <= 0) return;
    pb_record(pb_start(), count, &(struct pb_call){.kind = PB_opaque, .text = function});
}

/* A module that an interpreter has loaded brings a liburing that stands behind nothing. */
static void *next_ring(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    void *library = found ? NULL : dlopen("liburing.so.2", RTLD_LAZY | RTLD_NOLOAD);
    if (library) found = dlsym(library, name);
    if (found) return found;
    fprintf(stderr, "parabench record: no library has %s\n", name);
    abort();
}

/* They give how many were submitted. */
#define SUBMIT(name, given, ...)                                       \
    PB_API int name(__VA_ARGS__) {                                     \
        static int (*next)(__VA_ARGS__);                               \
        if (PB_RARE(!next)) *(void **)&next = next_ring(#name);        \
        int done = next given;                                         \
        int error = errno;                                             \
        pb_hide(#name, done);                                          \
        errno = error;                                                 \
        return done;                                                   \
    }
SUBMIT(io_uring_submit, (ring), void *ring)
SUBMIT(io_uring_submit_and_wait, (ring, least), void *ring, unsigned least)
SUBMIT(io_uring_submit_and_get_events, (ring), void *ring)
SUBMIT(io_uring_submit_and_wait_timeout, (ring, to, least, limit, mask), void *ring, void *to, unsigned least, void *limit, void *mask)
SUBMIT(io_uring_submit_and_wait_min_timeout, (ring, to, least, limit, at_least_us, mask), void *ring, void *to, unsigned least, void *limit, unsigned at_least_us, void *mask)
SUBMIT(io_uring_submit_and_wait_reg, (ring, to, least, at), void *ring, void *to, unsigned least, int at)
