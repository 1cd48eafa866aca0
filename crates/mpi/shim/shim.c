/* The MPI shim: a few dozen C functions with plain integer handles.
 *
 * The parabench binary is not linked with MPI. A site's own mpicc compiles this
 * file and files.c, one after the other, into a small shared library, which the binary opens with dlopen. So the
 * layout of MPI_Comm, MPI_File and MPI_Status, which differs between MPIs, never
 * crosses the border: only int, long long, char* and void* do.
 *
 * Every function returns MPI_SUCCESS (0) or an MPI error code (transfers: the bytes moved, or minus the code);
 * pb_error gives its class and text. Handles are indices into the tables below; communicator 0 is
 * MPI_COMM_WORLD, 1 MPI_COMM_SELF.
 * Here: life, communicators, messages, counters. Datatypes and files: files.c.
 * What is in neither: any decision. Loops, splitting and policy are in Rust.
 */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#ifndef PB_SHIM_VERSION /* a hash of this file, from whoever compiles it */
#error "compile this with: parabench mpi build"
#endif

/* ---- handle tables -------------------------------------------------------- */

#define TABLE(type, name)                                                     \
    static type *name##_items;                                                \
    static char *name##_used;                                                 \
    static int name##_len;                                                    \
    static int name##_put(type item)                                          \
    {                                                                         \
        int at = 0;                                                           \
        while (at < name##_len && name##_used[at])                            \
            at++;                                                             \
        if (at == name##_len) {                                               \
            int len = name##_len ? 2 * name##_len : 16;                       \
            type *items = realloc(name##_items, len * sizeof(type));          \
            char *used = items ? realloc(name##_used, len) : NULL;            \
            if (items)                                                        \
                name##_items = items;                                         \
            if (!used)                                                        \
                return -1;                                                    \
            memset(used + name##_len, 0, len - name##_len);                   \
            name##_used = used;                                               \
            name##_len = len;                                                 \
        }                                                                     \
        name##_items[at] = item;                                              \
        name##_used[at] = 1;                                                  \
        return at;                                                            \
    }

TABLE(MPI_Comm, comm)
TABLE(MPI_File, file)
TABLE(MPI_Datatype, dtype)
TABLE(MPI_Request, request)

/* ---- life and identity ---------------------------------------------------- */

int pb_shim_version(void) { return PB_SHIM_VERSION; }

/* Handle 0 of the table of datatypes is MPI_BYTE. Errors are returned, never fatal. */
int pb_init(int *thread_level)
{
    int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, thread_level);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS)
        error = MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (comm_put(MPI_COMM_WORLD) != 0 || comm_put(MPI_COMM_SELF) != 1 || dtype_put(MPI_BYTE) != 0)
        return MPI_ERR_NO_MEM;
    return error;
}

int pb_finalize(void) { return MPI_Finalize(); }
int pb_abort(int code) { return MPI_Abort(MPI_COMM_WORLD, code); }

int pb_library(char *text, int size)
{
    char buffer[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    int error = MPI_Get_library_version(buffer, &length);
    strncpy(text, buffer, size - 1);
    text[size - 1] = 0;
    return error;
}

int pb_standard(int *version, int *subversion)
{
    return MPI_Get_version(version, subversion);
}

int pb_error(int code, int *error_class, char *text, int size)
{
    char buffer[MPI_MAX_ERROR_STRING];
    int length;
    int error = MPI_Error_class(code, error_class);
    MPI_Error_string(code, buffer, &length);
    strncpy(text, buffer, size - 1);
    text[size - 1] = 0;
    return error;
}

/* The standard's name of an error class, whose number differs between MPIs. */
int pb_error_name(int error_class, char *text, int size)
{
#define CLASS(name) {name, #name}
    static const struct { int error_class; const char *name; } names[] = {
        CLASS(MPI_ERR_ACCESS), CLASS(MPI_ERR_AMODE), CLASS(MPI_ERR_ARG), CLASS(MPI_ERR_BAD_FILE),
        CLASS(MPI_ERR_BUFFER), CLASS(MPI_ERR_COMM), CLASS(MPI_ERR_CONVERSION), CLASS(MPI_ERR_COUNT),
        CLASS(MPI_ERR_DUP_DATAREP), CLASS(MPI_ERR_FILE), CLASS(MPI_ERR_FILE_EXISTS),
        CLASS(MPI_ERR_FILE_IN_USE), CLASS(MPI_ERR_INFO), CLASS(MPI_ERR_INFO_KEY),
        CLASS(MPI_ERR_INFO_VALUE), CLASS(MPI_ERR_INTERN), CLASS(MPI_ERR_IO), CLASS(MPI_ERR_NO_MEM),
        CLASS(MPI_ERR_NO_SPACE), CLASS(MPI_ERR_NO_SUCH_FILE), CLASS(MPI_ERR_NOT_SAME),
        CLASS(MPI_ERR_OTHER), CLASS(MPI_ERR_QUOTA), CLASS(MPI_ERR_READ_ONLY), CLASS(MPI_ERR_TRUNCATE),
        CLASS(MPI_ERR_TYPE), CLASS(MPI_ERR_UNKNOWN), CLASS(MPI_ERR_UNSUPPORTED_DATAREP),
        CLASS(MPI_ERR_UNSUPPORTED_OPERATION),
    };
#undef CLASS
    text[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error_class == error_class) {
            strncpy(text, names[i].name, size - 1);
            text[size - 1] = 0;
        }
    return MPI_SUCCESS;
}

/* ---- communicators -------------------------------------------------------- */

int pb_comm_rank(int comm, int *rank) { return MPI_Comm_rank(comm_items[comm], rank); }
int pb_comm_size(int comm, int *size) { return MPI_Comm_size(comm_items[comm], size); }

static int keep_comm(int error, MPI_Comm made, int *handle)
{
    *handle = -1;
    if (error != MPI_SUCCESS || made == MPI_COMM_NULL)
        return error;
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    *handle = comm_put(made);
    return *handle < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* color < 0: this rank is in no part; *handle is then -1. */
int pb_comm_split(int comm, int color, int key, int *handle)
{
    MPI_Comm made;
    int error = MPI_Comm_split(comm_items[comm], color < 0 ? MPI_UNDEFINED : color, key, &made);
    return keep_comm(error, made, handle);
}

/* A copy of a communicator, made without blocking: a copy that is started and one that can
 * be looked at. */
struct copy {
    MPI_Comm made;
    MPI_Request request;
};

TABLE(struct copy *, copy)

int pb_comm_copy_start(int comm, int *copy)
{
    struct copy *made = malloc(sizeof *made);
    *copy = -1;
    if (!made)
        return MPI_ERR_NO_MEM;
    int error = MPI_Comm_idup(comm_items[comm], &made->made, &made->request);
    if (error == MPI_SUCCESS && (*copy = copy_put(made)) >= 0)
        return MPI_SUCCESS;
    free(made);
    return error != MPI_SUCCESS ? error : MPI_ERR_NO_MEM;
}

/* *handle stays -1 until the copy is there; copy is gone then. */
int pb_comm_copy_test(int copy, int *handle)
{
    struct copy *made = copy_items[copy];
    int done = 0;
    *handle = -1;
    int error = MPI_Test(&made->request, &done, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || !done)
        return error;
    error = keep_comm(MPI_SUCCESS, made->made, handle);
    copy_used[copy] = 0;
    free(made);
    return error;
}

/* One communicator per machine. */
int pb_comm_split_node(int comm, int *handle)
{
    MPI_Comm made;
    int error = MPI_Comm_split_type(comm_items[comm], MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    return keep_comm(error, made, handle);
}

int pb_comm_free(int comm)
{
    comm_used[comm] = 0;
    return MPI_Comm_free(&comm_items[comm]);
}

/* ---- transfers that can be looked at instead of waited for --------------------
 *
 * A rank that blocks in MPI spins: with more ranks than processors every step of a
 * collective would cost a time slice. So the caller looks (pb_done) and rests.
 * Buffers stay in use until then.
 */

static int keep_request(int error, MPI_Request made, int *handle)
{
    *handle = -1;
    if (error != MPI_SUCCESS)
        return error;
    *handle = request_put(made);
    return *handle < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* Looks whether a transfer is done; the handle is gone then. */
int pb_done(int handle, int *done)
{
    *done = 0;
    int error = MPI_Test(&request_items[handle], done, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || *done)
        request_used[handle] = 0;
    return error;
}

int pb_ibcast(int comm, void *bytes, int count, int root, int *handle)
{
    MPI_Request made;
    int error = MPI_Ibcast(bytes, count, MPI_BYTE, root, comm_items[comm], &made);
    return keep_request(error, made, handle);
}

/* op: 0 sum, 1 min, 2 max, 3 bitwise or; in place on every rank. */
int pb_iallreduce(int comm, long long *values, int count, int op, int *handle)
{
    MPI_Op ops[4] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_BOR};
    MPI_Request made;
    int error = MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_LONG_LONG_INT, ops[op],
                               comm_items[comm], &made);
    return keep_request(error, made, handle);
}

int pb_isend(int comm, const void *bytes, int count, int to, int tag, int *handle)
{
    MPI_Request made;
    int error = MPI_Isend(bytes, count, MPI_BYTE, to, tag, comm_items[comm], &made);
    return keep_request(error, made, handle);
}

int pb_irecv(int comm, void *bytes, int count, int from, int tag, int *handle)
{
    MPI_Request made;
    int error = MPI_Irecv(bytes, count, MPI_BYTE, from, tag, comm_items[comm], &made);
    return keep_request(error, made, handle);
}

/* ---- messages between ranks that nobody waits for ---------------------------- */

#define MESSAGE_TAG 11

struct posted {
    struct posted *next;
    MPI_Request request;
    char bytes[];
};

static struct posted *posted_first, **posted_last = &posted_first;

/* Forgets posts that have left; *waiting is the number of the others. */
int pb_posted(int *waiting)
{
    struct posted **link = &posted_first;
    *waiting = 0;
    while (*link) {
        struct posted *post = *link;
        int done = 0;
        int error = MPI_Test(&post->request, &done, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS)
            return error;
        if (done) {
            *link = post->next;
            free(post);
        } else {
            link = &post->next;
            ++*waiting;
        }
    }
    posted_last = link;
    return MPI_SUCCESS;
}

/* Sends a copy of some bytes without waiting for anything. */
int pb_post(int comm, const void *bytes, int count, int to)
{
    struct posted *post = malloc(sizeof *post + count);
    if (!post)
        return MPI_ERR_NO_MEM;
    memcpy(post->bytes, bytes, count);
    int error = MPI_Isend(post->bytes, count, MPI_BYTE, to, MESSAGE_TAG, comm_items[comm], &post->request);
    if (error != MPI_SUCCESS) {
        free(post);
        return error;
    }
    post->next = NULL;
    *posted_last = post;
    posted_last = &post->next;
    return MPI_SUCCESS;
}

/* Takes a message that has come, from anybody; *count is -1 if there is none. More than max bytes are an error. */
int pb_take(int comm, void *bytes, int max, int *from, int *count)
{
    MPI_Status status;
    int flag = 0;
    *count = -1;
    int error = MPI_Iprobe(MPI_ANY_SOURCE, MESSAGE_TAG, comm_items[comm], &flag, &status);
    if (error != MPI_SUCCESS || !flag)
        return error;
    *from = status.MPI_SOURCE;
    error = MPI_Recv(bytes, max, MPI_BYTE, *from, MESSAGE_TAG, comm_items[comm], &status);
    return error != MPI_SUCCESS ? error : MPI_Get_count(&status, MPI_BYTE, count);
}

/* ---- counters that ranks claim from, by one-sided calls ------------------------
 *
 * Every rank has as many words as there are sets of ranks; which rank's is used for a set is
 * the caller's choice. Nobody has to answer: the target is passive.
 */

struct claims {
    MPI_Win window;
    long long *words;
    long long *found; /* what the claim under way finds, by number of the word */
};

TABLE(struct claims *, claims)

/* Collective. All words are initial; use them after a barrier. shared: all ranks are on one
 * machine, so that claims need no message. */
int pb_claims_make(int comm, int words, long long initial, int shared, int *handle)
{
    const MPI_Aint size = sizeof(long long);
    struct claims *made = calloc(1, sizeof *made);
    *handle = -1;
    if (!made || !(made->found = calloc(words, sizeof *made->found)))
        return MPI_ERR_NO_MEM;
    int error = (shared ? MPI_Win_allocate_shared : MPI_Win_allocate)(
        words * size, sizeof(long long), MPI_INFO_NULL, comm_items[comm], &made->words, &made->window);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Win_set_errhandler(made->window, MPI_ERRORS_RETURN);
    for (int word = 0; word < words; word++)
        made->words[word] = initial;
    error = MPI_Win_lock_all(MPI_MODE_NOCHECK, made->window);
    if (error == MPI_SUCCESS)
        error = MPI_Win_sync(made->window);
    if (error != MPI_SUCCESS)
        return error;
    *handle = claims_put(made);
    return *handle < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* Collective. */
int pb_claims_free(int handle)
{
    struct claims *made = claims_items[handle];
    claims_used[handle] = 0;
    int error = MPI_Win_unlock_all(made->window);
    if (error == MPI_SUCCESS)
        error = MPI_Win_free(&made->window);
    free(made->found);
    free(made);
    return error;
}

/* Starts to add 1 to a word. */
int pb_claim_start(int handle, int rank, int word)
{
    static const long long one = 1;
    struct claims *made = claims_items[handle];
    return MPI_Fetch_and_op(&one, &made->found[word], MPI_LONG_LONG_INT, rank, word, MPI_SUM, made->window);
}

/* Completes it: what the word was before. */
int pb_claim_wait(int handle, int rank, int word, long long *found)
{
    struct claims *made = claims_items[handle];
    int error = MPI_Win_flush(rank, made->window);
    *found = made->found[word];
    return error;
}

/* Replaces a word that nobody adds to meanwhile. */
int pb_claim_set(int handle, int rank, int word, long long wanted)
{
    struct claims *made = claims_items[handle];
    int error = MPI_Fetch_and_op(&wanted, &made->found[word], MPI_LONG_LONG_INT, rank, word, MPI_REPLACE,
                                 made->window);
    return error == MPI_SUCCESS ? MPI_Win_flush(rank, made->window) : error;
}
