/* MPI-IO, and where ranks wait for each other, where the program has an MPI. Whose it is does not matter:
 * handles are integers in one MPI and pointers in another, but all of them, and what points to a status, go
 * through registers or places of eight bytes as they are. A file is a pointer in all. What depends on an MPI is asked of that MPI: sizes
 * of types, counts of a status.
 *
 * Each function is wrapped under both of its names, MPI_* and PMPI_*: the Fortran bindings of MPICH call the
 * one, those of Open MPI the other. Of calls inside of calls (a profiler before the MPI, say) the outermost
 * is recorded. */
#include "record.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A communicator, a type, an info object. */
typedef uintptr_t handle;
typedef void *file;

#define FILES_MAX 1024
/* Larger than every MPI's. */
#define STATUS_BYTES 256

/* Open files with their absolute names. */
static struct {
    file file;
    char *name;
} files[FILES_MAX];

struct search {
    const char *name;
    void *own, *found;
};

static int search_library(struct dl_phdr_info *library, size_t bytes, void *given) {
    (void)bytes;
    struct search *search = given;
    const char *last = strrchr(library->dlpi_name, '/');
    if (!last || strncmp(last, "/libmpi", 7)) return 0;
    void *opened = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    void *found = opened ? dlsym(opened, search->name) : NULL;
    if (opened) dlclose(opened);
    if (found != search->own) search->found = found;
    return search->found != NULL;
}

/* A function of the MPI. One that an interpreter has loaded for a module stands behind nothing. */
static void *next_mpi(const char *name, void *own) {
    struct search search = {name, own, dlsym(RTLD_NEXT, name)};
    if (!search.found) dl_iterate_phdr(search_library, &search);
    return search.found ? search.found : pb_next(name);
}

#define MPI_NEXT(name, ...)                       \
    static int (*next)(__VA_ARGS__);              \
    if (PB_RARE(!next)) *(void **)&next = next_mpi(#name, (void *)name)

/* Which rank the launcher says that this process is: mpiexec of Open MPI, of MPICH, any that speaks PMIx,
 * srun. MPI_Comm_rank would need MPI_COMM_WORLD, which is another value in each MPI. */
static void know_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        const char *text = getenv(names[at]);
        char *end = NULL;
        unsigned long rank = text ? strtoul(text, &end, 10) : 0;
        if (text && end != text && !*end && rank < INT_MAX) return pb_is_rank((uint32_t)rank);
    }
}

static uint64_t size_of(handle type) {
    static int (*ask)(handle, int *);
    int bytes = 0;
    if (!ask) *(void **)&ask = next_mpi("PMPI_Type_size", NULL);
    return ask(type, &bytes) == 0 && bytes > 0 ? (uint64_t)bytes : 0;
}

/* Elements that a status tells; `asked` where it does not. */
static uint64_t count_of(const void *status, handle type, uint64_t asked) {
    static int (*ask)(const void *, handle, int *);
    int count = -1;
    if (!ask) *(void **)&ask = next_mpi("PMPI_Get_count", NULL);
    return ask(status, type, &count) == 0 && count >= 0 ? (uint64_t)count : asked;
}

/* "ufs:name" names the file system; names start at the current directory. */
static char *absolute(const char *name) {
    char directory[PATH_MAX];
    const char *colon = strchr(name, ':'), *slash = strchr(name, '/');
    if (colon && (!slash || colon < slash)) name = colon + 1;
    char *real = realpath(name, NULL);
    if (real) return real;
    if (name[0] == '/' || !getcwd(directory, sizeof directory)) return strdup(name);
    char *made = malloc(strlen(directory) + strlen(name) + 2);
    if (made) strcat(strcat(strcpy(made, directory), "/"), name);
    return made;
}

static void opened(file opened, const char *name) {
    for (int at = 0; at < FILES_MAX; at++) {
        file none = NULL;
        if (__atomic_compare_exchange_n(&files[at].file, &none, opened, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            files[at].name = absolute(name);
            return;
        }
    }
}

static int place_of(file file) {
    for (int at = 0; at < FILES_MAX; at++)
        if (files[at].file == file) return at;
    return -1;
}

/* Calls of MPI-IO that the thread is in. */
static __thread int depth;

/* Begins a call, which `tell` ends. */
static uint64_t begin(void) {
    depth++;
    return pb_start();
}

static int is_outermost(void) {
    return depth == 1;
}

static void tell(enum pb_kind kind, uint64_t start, int error, int64_t done, uint64_t bytes, const char *name) {
    struct pb_call call = {.kind = kind, .bytes = bytes, .offset = -1, .text = name};
    if (is_outermost()) pb_record(start, error ? -1 : done, &call);
    depth--;
}

static void on_file(enum pb_kind kind, uint64_t start, int error, int64_t done, uint64_t bytes, file file) {
    int at = place_of(file);
    tell(kind, start, error, done, bytes, at < 0 ? NULL : files[at].name);
}

/* The function under both names. */
#define BOTH(wrapper, name, ...)      \
    wrapper(name, #name, __VA_ARGS__) \
    wrapper(P##name, #name, __VA_ARGS__)

#define INIT(name, plain, given, ...)                                                            \
    PB_API int name(__VA_ARGS__) {                                                               \
        MPI_NEXT(name, __VA_ARGS__);                                                             \
        int error = next given;                                                                  \
        if (!error) know_rank();                                                                 \
        return error;                                                                            \
    }
BOTH(INIT, MPI_Init, (count, words), int *count, void *words)
BOTH(INIT, MPI_Init_thread, (count, words, wanted, given), int *count, void *words, int wanted, int *given)

#define OPEN(name, plain, ...)                                                                   \
    PB_API int name(handle members, const char *path, int mode, handle info, file *made) {       \
        MPI_NEXT(name, handle, const char *, int, handle, file *);                               \
        uint64_t start = begin();                                                                \
        int error = next(members, path, mode, info, made);                                       \
        if (!error && is_outermost()) opened(*made, path);                                       \
        char *full = error ? absolute(path) : NULL;                                              \
        if (error) tell(PB_mpi_open, start, error, 0, 0, full);                                  \
        else on_file(PB_mpi_open, start, error, 0, 0, *made);                                    \
        free(full);                                                                              \
        return error;                                                                            \
    }
BOTH(OPEN, MPI_File_open, )

static void forget(int at) {
    free(files[at].name);
    files[at].name = NULL;
    __atomic_store_n(&files[at].file, NULL, __ATOMIC_RELEASE);
}

#define CLOSE(function, plain, ...)                                                              \
    PB_API int function(file *closed) {                                                              \
        MPI_NEXT(function, file *);                                                                  \
        uint64_t start = begin();                                                                \
        int at = is_outermost() ? place_of(*closed) : -1, error = next(closed);                  \
        tell(PB_mpi_close, start, error, 0, 0, at < 0 ? NULL : files[at].name);                  \
        if (at >= 0) forget(at);                                                                 \
        return error;                                                                            \
    }
BOTH(CLOSE, MPI_File_close, )

#define DELETE(name, plain, ...)                                                                 \
    PB_API int name(const char *path, handle info) {                                             \
        MPI_NEXT(name, const char *, handle);                                                    \
        uint64_t start = begin();                                                                \
        int error = next(path, info);                                                            \
        char *full = absolute(path);                                                             \
        tell(PB_mpi_delete, start, error, 0, 0, full);                                           \
        free(full);                                                                              \
        return error;                                                                            \
    }
BOTH(DELETE, MPI_File_delete, )

/* Transfers: reads tell in their status how far they came, which may be the one to ignore. */
#define MOVE(name, plain, kind, type, given, ...)                                                \
    PB_API int name(__VA_ARGS__, type count, handle what, void *status) {                        \
        MPI_NEXT(name, __VA_ARGS__, type, handle, void *);                                       \
        char own[STATUS_BYTES] = {0};                                                            \
        int is_read = PB_##kind == PB_mpi_read;                                                  \
        void *told = is_read && (uintptr_t)status <= 1 ? own : status;                           \
        uint64_t start = begin();                                                                \
        int error = next given;                                                                  \
        uint64_t asked = count < 0 ? 0 : (uint64_t)count, bytes = size_of(what);                 \
        uint64_t done = error || !is_read ? asked : count_of(told, what, asked);                 \
        on_file(PB_##kind, start, error, (int64_t)(done * bytes), asked * bytes, on);            \
        return error;                                                                            \
    }
#define AT_POSITION(name, kind)                                                                  \
    BOTH(MOVE, name, kind, int, (on, memory, count, what, told), file on, void *memory)          \
    BOTH(MOVE, name##_c, kind, long long, (on, memory, count, what, told), file on, void *memory)
#define AT_OFFSET(name, kind)                                                                    \
    BOTH(MOVE, name, kind, int, (on, at, memory, count, what, told), file on, long long at, void *memory) \
    BOTH(MOVE, name##_c, kind, long long, (on, at, memory, count, what, told), file on, long long at, void *memory)

AT_POSITION(MPI_File_read, mpi_read)
AT_POSITION(MPI_File_read_all, mpi_read)
AT_POSITION(MPI_File_read_shared, mpi_read)
AT_POSITION(MPI_File_read_ordered, mpi_read)
AT_POSITION(MPI_File_write, mpi_write)
AT_POSITION(MPI_File_write_all, mpi_write)
AT_POSITION(MPI_File_write_shared, mpi_write)
AT_POSITION(MPI_File_write_ordered, mpi_write)
AT_OFFSET(MPI_File_read_at, mpi_read)
AT_OFFSET(MPI_File_read_at_all, mpi_read)
AT_OFFSET(MPI_File_write_at, mpi_write)
AT_OFFSET(MPI_File_write_at_all, mpi_write)

#define ON_FILE(name, plain, kind, size, given, ...)                                             \
    PB_API int name(__VA_ARGS__) {                                                               \
        MPI_NEXT(name, __VA_ARGS__);                                                             \
        uint64_t start = begin();                                                                \
        int error = next given;                                                                  \
        on_file(PB_##kind, start, error, 0, (uint64_t)(size), on);                               \
        return error;                                                                            \
    }
BOTH(ON_FILE, MPI_File_sync, mpi_sync, 0, (on), file on)
BOTH(ON_FILE, MPI_File_set_size, mpi_set_size, size, (on, size), file on, long long size)
BOTH(ON_FILE, MPI_File_preallocate, mpi_preallocate, size, (on, size), file on, long long size)
BOTH(ON_FILE, MPI_File_seek, mpi_seek, 0, (on, at, from), file on, long long at, int from)

/* What changes where transfers go, and transfers that end in another call: named and counted. */
#define COUNTED(name, plain, given, ...)                                                         \
    PB_API int name(__VA_ARGS__) {                                                               \
        MPI_NEXT(name, __VA_ARGS__);                                                             \
        uint64_t start = begin();                                                                \
        int error = next given;                                                                  \
        tell(PB_mpi_other, start, error, 0, 0, plain);                                           \
        return error;                                                                            \
    }
#define COUNT(name, given, ...) BOTH(COUNTED, name, given, __VA_ARGS__)
COUNT(MPI_File_set_view, (on, at, unit, type, form, info), file on, long long at, handle unit, handle type, const char *form, handle info)
#define BEGUN(name) COUNT(name, (on, memory, count, what, made), file on, void *memory, int count, handle what, void *made)
#define BEGUN_AT(name) COUNT(name, (on, at, memory, count, what, made), file on, long long at, void *memory, int count, handle what, void *made)
BEGUN(MPI_File_iread)
BEGUN(MPI_File_iread_all)
BEGUN(MPI_File_iread_shared)
BEGUN(MPI_File_iwrite)
BEGUN(MPI_File_iwrite_all)
BEGUN(MPI_File_iwrite_shared)
BEGUN_AT(MPI_File_iread_at)
BEGUN_AT(MPI_File_iread_at_all)
BEGUN_AT(MPI_File_iwrite_at)
BEGUN_AT(MPI_File_iwrite_at_all)
#define SPLIT(name) COUNT(name, (on, memory, count, what), file on, void *memory, int count, handle what)
#define SPLIT_AT(name) COUNT(name, (on, at, memory, count, what), file on, long long at, void *memory, int count, handle what)
SPLIT(MPI_File_read_all_begin)
SPLIT(MPI_File_read_ordered_begin)
SPLIT(MPI_File_write_all_begin)
SPLIT(MPI_File_write_ordered_begin)
SPLIT_AT(MPI_File_read_at_all_begin)
SPLIT_AT(MPI_File_write_at_all_begin)

/* Where every member of a communicator waits for every other one: barriers, and calls that give each one
 * something of all the others. Calls that wait for some alone (MPI_Bcast, MPI_Reduce) are no barriers. */
static uint64_t members_of(handle communicator) {
    static int (*ask)(handle, int *);
    int members = 0;
    if (!ask) *(void **)&ask = next_mpi("PMPI_Comm_size", NULL);
    return ask(communicator, &members) == 0 && members > 0 ? (uint64_t)members : 0;
}

/* Ends a call of all members that gave each other so many elements. */
static void met(uint64_t start, int error, int64_t elements, handle communicator) {
    if (!error && elements > 0 && is_outermost()) {
        uint64_t members = members_of(communicator);
        if (members > 1) pb_on(PB_mpi_barrier, start, 0, -1, members, -1);
    }
    depth--;
}

#define MEETING(name, plain, elements, given, ...)                                               \
    PB_API int name(__VA_ARGS__, handle members) {                                               \
        MPI_NEXT(name, __VA_ARGS__, handle);                                                     \
        uint64_t start = begin();                                                                \
        int error = next given;                                                                  \
        met(start, error, elements, members);                                                    \
        return error;                                                                            \
    }
#define REDUCING(name, number) \
    BOTH(MEETING, name, count, (from, to, count, type, how, members), const void *from, void *to, number count, handle type, handle how)
#define SHARING(name, number) \
    BOTH(MEETING, name, count, (from, own, sent, to, count, type, members), const void *from, number own, handle sent, void *to, number count, handle type)

#define BARRIER(name, plain, ...)                                                                \
    PB_API int name(handle members) {                                                            \
        MPI_NEXT(name, handle);                                                                  \
        uint64_t start = begin();                                                                \
        int error = next(members);                                                               \
        met(start, error, 1, members);                                                           \
        return error;                                                                            \
    }
BOTH(BARRIER, MPI_Barrier, )
REDUCING(MPI_Allreduce, int)
REDUCING(MPI_Allreduce_c, long long)
SHARING(MPI_Allgather, int)
SHARING(MPI_Allgather_c, long long)
SHARING(MPI_Alltoall, int)
SHARING(MPI_Alltoall_c, long long)
