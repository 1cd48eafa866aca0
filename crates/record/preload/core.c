/* Files of threads: made when a thread makes its first call, written through memory. */
#include "record.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_BYTES (12u << 10)
#define WINDOW_BYTES (1u << 20)
#define NAME_MAX_BYTES 4096u
/* Calls that are recorded to measure what that takes, and how often. */
#define TRIALS 16u
#define TRIED 4
/* Rounds of destructors in which the thread may still make calls. */
#define ROUNDS 3

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define TEXT_BYTES 2048u
char pb_library[TEXT_BYTES], pb_file[TEXT_BYTES];
static char folder[TEXT_BYTES];
__thread struct pb_window pb_window __attribute__((tls_model("initial-exec")));

__thread struct pb_clocks pb_clocks __attribute__((tls_model("initial-exec")));

/* What a thread needs beyond its window. */
static __thread struct {
    struct pb_header *header;
    uint64_t end; /* of its file, bytes */
    uint32_t process, thread, parent, birth;
    uint64_t birth_ns, forking_ns;
    uint32_t shares, forking_shares;
    int busy, full, rounds;
} self __attribute__((tls_model("initial-exec")));

static uint32_t nobody;
volatile uint32_t *pb_is_ours = &nobody;
static int is_on, streams;
static int64_t epoch_ns;
static pthread_key_t at_end;

int pb_is_on(void) { return is_on; }

void *pb_next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found) return found;
    fprintf(stderr, "parabench record: this C library has no %s\n", name);
    abort();
}

uint32_t pb_thread(void) {
    if (!self.thread) self.thread = (uint32_t)syscall(SYS_gettid);
    return self.thread;
}

void pb_begin_thread(uint32_t parent, uint64_t birth_ns) {
    self.parent = parent;
    self.birth = PB_THREAD;
    self.birth_ns = birth_ns;
}

void pb_forking(uint64_t start_ns, uint32_t shares) {
    self.forking_ns = start_ns;
    self.forking_shares = shares;
}

void pb_read_clocks(uint64_t now_ns, int waits) {
    int error = errno;
    struct timespec time;
    struct pb_clocks before = pb_clocks;
    if (syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time) != 0) time = (struct timespec){0};
    errno = error;
    pb_clocks.now_ns = now_ns;
    pb_clocks.processor_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    /* A thread or process that has just begun has used none yet. */
    if (!waits || !before.now_ns || pb_clocks.processor_ns < before.processor_ns) return;
    uint64_t elapsed_ns = now_ns - before.now_ns;
    uint64_t used_ns = pb_clocks.processor_ns - before.processor_ns;
    if (elapsed_ns > used_ns) pb_clocks.waited_ns += elapsed_ns - used_ns;
}

/* Really allocated: a full disk ends no program. Neither does a limit of file sizes: its signal is taken back. */
static int allocate(int fd, uint64_t end, uint64_t bytes) {
    sigset_t limit, before, pending;
    struct timespec at_once = {0};
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    sigpending(&pending);
    int failed = syscall(SYS_fallocate, fd, 0, end, bytes) != 0;
    if (failed && errno == EFBIG && !sigismember(&pending, SIGXFSZ)) sigtimedwait(&limit, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

/* The file that a thread goes on in, at `end`; NULL: no room. */
static void *more(const char *path, int flags, uint64_t end, uint64_t bytes) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd < 0) return NULL;
    void *at = MAP_FAILED;
    if (allocate(fd, end, bytes))
        at = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_POPULATE, fd, end);
    syscall(SYS_close, fd);
    /* A file without a header is none. */
    if (at == MAP_FAILED && flags & O_CREAT) syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void path_of(char *path, size_t bytes) {
    snprintf(path, bytes, "%s/%u-%u-%llx.rec", folder, self.process, self.thread,
             (unsigned long long)self.birth_ns);
}

/* The memory of a forked process is a copy, but its windows are its parent's files. */
static void forked(void) {
    *pb_is_ours = 1;
    uint32_t parent = self.thread;
    memset(&pb_window, 0, sizeof pb_window);
    self.header = NULL;
    self.end = 0;
    self.full = 0;
    pb_forget_transfers();
    self.parent = parent;
    self.birth = PB_FORKED;
    self.shares = self.forking_shares;
    self.birth_ns = self.forking_ns ? self.forking_ns : pb_now();
    self.thread = (uint32_t)syscall(SYS_gettid);
}

static int begin(void) {
    char path[TEXT_BYTES + 64];
    self.process = (uint32_t)getpid();
    pb_thread();
    if (!self.birth) pb_begin_thread(self.process, pb_now());
    path_of(path, sizeof path);
    struct pb_header *header = more(path, O_CREAT | O_EXCL, 0, PB_HEADER_BYTES);
    if (!header) return 0;
    header->process = self.process;
    header->thread = self.thread;
    header->parent = self.parent;
    header->birth = self.birth;
    header->birth_ns = self.birth_ns;
    header->shares = self.shares;
    header->epoch_ns = epoch_ns;
    header->streams = (uint32_t)streams;
    __atomic_store_n(&header->magic, PB_MAGIC, __ATOMIC_RELEASE);
    self.header = header;
    self.end = PB_HEADER_BYTES;
    pthread_setspecific(at_end, &self);
    return 1;
}

/* Another window of the file, with room for so many slots. */
static int extend(unsigned needed) {
    char path[TEXT_BYTES + 64];
    if (!self.header && !begin()) return 0;
    path_of(path, sizeof path);
    /* Small programs have small files; each window doubles them. */
    uint64_t bytes = self.end == PB_HEADER_BYTES ? FIRST_BYTES : self.end;
    if (bytes > WINDOW_BYTES) bytes = WINDOW_BYTES;
    struct pb_slot *slots = NULL;
    /* Where a limit or a disk is nearly reached, what is left is used. */
    while (bytes >= needed * sizeof *slots && !(slots = more(path, 0, self.end, bytes)))
        bytes = (bytes / 2) & ~(uint64_t)(PB_HEADER_BYTES - 1);
    if (!slots) return 0;
    if (pb_window.slots) {
        unsigned left = pb_window.limit - pb_window.next;
        if (left) {
            pb_window.slots[pb_window.next].bytes = left;
            pb_window.slots[pb_window.next].kind = PB_skip;
        }
        syscall(SYS_munmap, pb_window.slots, (size_t)pb_window.limit * sizeof(struct pb_slot));
    }
    pb_window = (struct pb_window){slots, 0, (unsigned)(bytes / sizeof(struct pb_slot))};
    self.end += bytes;
    return 1;
}

struct pb_slot *pb_reserve_slowly(unsigned slots, enum pb_kind kind) {
    if (!is_on) return NULL;
    int error = errno;
    struct pb_slot *slot = NULL;
    /* A signal handler may make a call meanwhile. */
    if (!self.busy) {
        self.busy = 1;
        if (!*pb_is_ours) forked();
        if (!self.full && pb_window.next + slots > pb_window.limit) self.full = !extend(slots);
        if (!self.full) {
            slot = pb_window.slots + pb_window.next;
            pb_window.next += slots;
        } else {
            /* Positions would be wrong behind a call that is missing: nothing is recorded any more. */
            pb_window.limit = pb_window.next;
        }
        self.busy = 0;
    }
    if (!slot && kind >= PB_open) pb_lose_call();
    errno = error;
    return slot;
}

void pb_is_rank(uint32_t rank) {
    if (!is_on || self.busy) return;
    self.busy = 1;
    if (!*pb_is_ours) forked();
    if (self.header || begin()) self.header->mpi = rank + 1;
    self.busy = 0;
}

static unsigned slots_for(size_t bytes) {
    return (unsigned)((bytes + sizeof(struct pb_slot) - 1) / sizeof(struct pb_slot));
}

static size_t length(const char *text, size_t bytes, int error) {
    if (!text || error == EFAULT) return 0;
    return bytes ? bytes : strnlen(text, NAME_MAX_BYTES);
}

void pb_record(uint64_t start_ns, int64_t value, const struct pb_call *call) {
    uint64_t end_ns = pb_end();
    int error = value == -1 ? errno : 0;
    size_t text = length(call->text, call->text_bytes, error);
    size_t text2 = length(call->text2, call->text2_bytes, error);
    struct pb_slot *slot = pb_reserve(1 + slots_for(text) + slots_for(text2), call->kind);
    if (!slot) return;
    slot->start_ns = start_ns;
    slot->end_ns = end_ns;
    slot->value = value;
    slot->offset = call->offset;
    slot->bytes = call->bytes;
    slot->fd = call->fd;
    slot->fd2 = call->fd2;
    slot->flags = call->flags;
    slot->error = (uint16_t)error;
    slot->waited_us = pb_waited_us();
    slot->text_bytes = (uint16_t)text;
    slot->text2_bytes = (uint16_t)text2;
    if (text) memcpy(slot + 1, call->text, text);
    if (text2) memcpy(slot + 1 + slots_for(text), call->text2, text2);
    __atomic_store_n(&slot->kind, (uint16_t)call->kind, __ATOMIC_RELEASE);
}

/* Destructors of other libraries may still make calls: the last round counts. */
static void ended(void *nothing) {
    (void)nothing;
    if (self.rounds++ < ROUNDS) {
        pthread_setspecific(at_end, &self);
        return;
    }
    pb_record(pb_now(), 0, &(struct pb_call){.kind = PB_exit});
    if (!self.header || !pb_window.slots) return;
    syscall(SYS_munmap, pb_window.slots, (size_t)pb_window.limit * sizeof(struct pb_slot));
    syscall(SYS_munmap, self.header, (size_t)PB_HEADER_BYTES);
    self.header = NULL;
    self.full = 1;
    memset(&pb_window, 0, sizeof pb_window);
}

/* Files that streams still write come later. */
void pb_end_process(void) {
    if (is_on && *pb_is_ours && self.header) self.header->end_ns = pb_now();
}

__attribute__((destructor)) static void finish(void) { pb_end_process(); }

void pb_show(int fd) {
    char link[64], text[NAME_MAX_BYTES];
    struct stat facts;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long bytes = syscall(SYS_readlinkat, AT_FDCWD, link, text, sizeof text - 16);
    if (bytes <= 0) return;
    text[bytes] = 0;
    int is_device = text[0] == '/' && syscall(SYS_fstat, fd, &facts) == 0 && S_ISCHR(facts.st_mode);
    if (is_device) strcpy(text + bytes, "<char >");
    pb_record(pb_now(), fd, &(struct pb_call){.kind = PB_shown, .fd = fd, .text = text});
}

/* What the program was given: descriptors that are open. */
static void show_all(void) {
    char entries[4096];
    int all = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (all < 0) return;
    long bytes;
    while ((bytes = syscall(SYS_getdents64, all, entries, sizeof entries)) > 0) {
        for (long at = 0; at < bytes;) {
            /* d_ino, d_off, d_reclen, d_type, d_name */
            uint16_t entry_bytes;
            memcpy(&entry_bytes, entries + at + 16, sizeof entry_bytes);
            const char *name = entries + at + 19;
            int fd = atoi(name);
            if (name[0] != '.' && fd != all) pb_show(fd);
            at += entry_bytes;
        }
    }
    syscall(SYS_close, all);
}

/* PARABENCH_RECORD is "EPOCH:ENTRY:FOLDER". The entry is used up: what this program executes without being
 * asked has none. */
static int is_told(unsigned *entry) {
    char *told = getenv("PARABENCH_RECORD"), *end;
    const char *library = getenv("LD_PRELOAD");
    Dl_info ours;
    if (!told || !library || strlen(told) >= TEXT_BYTES || strlen(library) >= TEXT_BYTES) return 0;
    if (!dladdr(&nobody, &ours) || strlen(ours.dli_fname) >= TEXT_BYTES) return 0;
    strcpy(pb_library, library);
    strcpy(pb_file, ours.dli_fname);
    epoch_ns = strtoll(told, &end, 10);
    if (*end++ != ':') return 0;
    char *number = end;
    *entry = (unsigned)strtoul(number, &end, 10);
    if (*end != ':' || !end[1]) return 0;
    memset(number, '9', (size_t)(end - number));
    strcpy(folder, end + 1);
    return 1;
}

void pb_tell(char *to, size_t bytes, unsigned entry) {
    snprintf(to, bytes, "PARABENCH_RECORD=%lld:%03u:%s", (long long)epoch_ns, entry, folder);
}

/* What recording adds to a call: the quickest of a few rounds of slots of no kind, which are then free. */
static uint32_t measured(void) {
    struct pb_window before = pb_window;
    if (!before.slots || before.next + TRIALS > before.limit) return 0;
    uint64_t quickest = UINT32_MAX;
    for (int round = 0; round < TRIED; round++) {
        uint64_t start = pb_now();
        for (unsigned trial = 0; trial < TRIALS; trial++) pb_on(PB_NOTHING, pb_now(), 0, -1, 0, -1);
        uint64_t elapsed = (pb_now() - start) / TRIALS;
        if (elapsed < quickest) quickest = elapsed;
        pb_window = before;
    }
    return (uint32_t)quickest;
}

/* The note of its build that Go leaves: length of the name, of the rest, type 4, "Go". */
static int is_of_go(struct dl_phdr_info *program, size_t size, void *found) {
    (void)size;
    for (unsigned at = 0; at < program->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = program->dlpi_phdr + at;
        const char *note = (const char *)(program->dlpi_addr + part->p_vaddr);
        if (part->p_type != PT_NOTE || part->p_memsz < 16) continue;
        if (memmem(note, part->p_memsz, "\4\0\0\0Go\0", 8)) *(int *)found = 1;
    }
    /* The first is the program itself. */
    return 1;
}

/* The library is in it, but the runtime makes its system calls itself. */
static int bypasses_library(void) {
    int found = 0;
    dl_iterate_phdr(is_of_go, &found);
    return found;
}

__attribute__((constructor)) static void start(void) {
    int error = errno;
    unsigned entry;
    const char *program = (const char *)getauxval(AT_EXECFN);
    if (!program) program = "?";
    if (is_on || !is_told(&entry) || pthread_key_create(&at_end, ended) != 0) return;
    if (!pb_open_lost(folder, program)) return;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    madvise(page, bytes, MADV_WIPEONFORK);
    pb_is_ours = page;
    *pb_is_ours = 1;
    streams = pb_watch_streams();
    is_on = 1;
    if (!bypasses_library()) pb_find_program(entry);
    self.birth = PB_EXECUTED;
    self.birth_ns = pb_now();
    self.parent = (uint32_t)getppid();
    char directory[NAME_MAX_BYTES];
    pb_record(self.birth_ns, 0,
              &(struct pb_call){.kind = PB_execute, .text = program});
    if (syscall(SYS_getcwd, directory, sizeof directory) > 0)
        pb_record(pb_now(), 0, &(struct pb_call){.kind = PB_directory, .text = directory});
    show_all();
    if (self.header) self.header->call_ns = measured();
    errno = error;
}
