/* The MPI shim: a few dozen C functions with plain integer handles.
 *
 * The parabench binary is not linked with MPI. A site's own mpicc compiles this
 * file into a small shared library, which the binary opens with dlopen. So the
 * layout of MPI_Comm, MPI_File and MPI_Status, which differs between MPIs, never
 * crosses the border: only int, long long, char* and void* do.
 *
 * Every function returns MPI_SUCCESS (0) or an MPI error code; pb_error gives its
 * class and text. Handles are indices into the tables below; communicator 0 is
 * MPI_COMM_WORLD, 1 MPI_COMM_SELF.
 * What is not here: any decision. Loops, splitting and policy are in Rust.
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

/* ---- words between ranks that nobody waits for ------------------------------- */

#define WORDS_TAG 11

struct posted {
    struct posted *next;
    MPI_Request request;
    long long words[];
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

/* Sends words without waiting for anything. */
int pb_post(int comm, const long long *words, int count, int to)
{
    struct posted *post = malloc(sizeof *post + count * sizeof *words);
    if (!post)
        return MPI_ERR_NO_MEM;
    memcpy(post->words, words, count * sizeof *words);
    int error = MPI_Isend(post->words, count, MPI_LONG_LONG_INT, to, WORDS_TAG, comm_items[comm],
                          &post->request);
    if (error != MPI_SUCCESS) {
        free(post);
        return error;
    }
    post->next = NULL;
    *posted_last = post;
    posted_last = &post->next;
    return MPI_SUCCESS;
}

/* Takes words that have come, from anybody; *count is -1 if there are none. More than max
 * words are an error. */
int pb_take(int comm, long long *words, int max, int *from, int *count)
{
    MPI_Status status;
    int flag = 0;
    *count = -1;
    int error = MPI_Iprobe(MPI_ANY_SOURCE, WORDS_TAG, comm_items[comm], &flag, &status);
    if (error != MPI_SUCCESS || !flag)
        return error;
    *from = status.MPI_SOURCE;
    error = MPI_Recv(words, max, MPI_LONG_LONG_INT, *from, WORDS_TAG, comm_items[comm], &status);
    return error != MPI_SUCCESS ? error : MPI_Get_count(&status, MPI_LONG_LONG_INT, count);
}

/* ---- agreements: all members give a number and get the smallest and the largest -- */

struct agreement {
    long long own[2], met[2]; /* the number and its opposite */
    MPI_Request request;
};

TABLE(struct agreement *, agreement)

/* A barrier that can be looked at instead of waited for. */
int pb_agree_start(int comm, long long value, int *handle)
{
    struct agreement *made = malloc(sizeof *made);
    *handle = -1;
    if (!made)
        return MPI_ERR_NO_MEM;
    made->own[0] = value;
    made->own[1] = -value;
    int error = MPI_Iallreduce(made->own, made->met, 2, MPI_LONG_LONG_INT, MPI_MIN,
                               comm_items[comm], &made->request);
    if (error == MPI_SUCCESS) {
        *handle = agreement_put(made);
        if (*handle >= 0)
            return MPI_SUCCESS;
        error = MPI_ERR_NO_MEM;
    }
    free(made);
    return error;
}

/* Looks whether it is done; the handle is gone then. */
int pb_agree_test(int handle, int *done, long long *smallest, long long *largest)
{
    struct agreement *made = agreement_items[handle];
    *done = 0;
    int error = MPI_Test(&made->request, done, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || !*done)
        return error;
    *smallest = made->met[0];
    *largest = -made->met[1];
    agreement_used[handle] = 0;
    free(made);
    return MPI_SUCCESS;
}

/* ---- datatypes --------------------------------------------------------------- */

static int keep_type(int error, MPI_Datatype made, int *handle)
{
    *handle = -1;
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_Type_commit(&made);
    if (error != MPI_SUCCESS)
        return error;
    *handle = dtype_put(made);
    return *handle < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* count bytes in one piece, count up to 2^31 - 1. */
int pb_type_contiguous(int count, int base, int *handle)
{
    MPI_Datatype made;
    int error = MPI_Type_contiguous(count, dtype_items[base], &made);
    return keep_type(error, made, handle);
}

/* count blocks of blocklen bytes, stride bytes apart. */
int pb_type_vector(int count, int blocklen, long long stride, int base, int *handle)
{
    MPI_Datatype made;
    int error = MPI_Type_create_hvector(count, blocklen, (MPI_Aint)stride, dtype_items[base], &made);
    return keep_type(error, made, handle);
}

int pb_type_indexed(int count, const int *blocklens, const long long *displacements, int base, int *handle)
{
    MPI_Datatype made;
    MPI_Aint *starts = malloc((count ? count : 1) * sizeof(MPI_Aint));
    if (!starts)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < count; i++)
        starts[i] = (MPI_Aint)displacements[i];
    int error = MPI_Type_create_hindexed(count, blocklens, starts, dtype_items[base], &made);
    free(starts);
    return keep_type(error, made, handle);
}

int pb_type_subarray(int dims, const int *sizes, const int *subsizes, const int *starts, int base, int *handle)
{
    MPI_Datatype made;
    int error = MPI_Type_create_subarray(dims, sizes, subsizes, starts, MPI_ORDER_C, dtype_items[base], &made);
    return keep_type(error, made, handle);
}

int pb_type_struct(int count, const int *blocklens, const long long *displacements, const int *bases, int *handle)
{
    MPI_Datatype made;
    MPI_Aint *starts = malloc((count ? count : 1) * sizeof(MPI_Aint));
    MPI_Datatype *types = malloc((count ? count : 1) * sizeof(MPI_Datatype));
    int error = MPI_ERR_NO_MEM;
    if (starts && types) {
        for (int i = 0; i < count; i++) {
            starts[i] = (MPI_Aint)displacements[i];
            types[i] = dtype_items[bases[i]];
        }
        error = MPI_Type_create_struct(count, blocklens, starts, types, &made);
    }
    free(starts);
    free(types);
    return keep_type(error, made, handle);
}

int pb_type_resized(int base, long long lower, long long extent, int *handle)
{
    MPI_Datatype made;
    int error = MPI_Type_create_resized(dtype_items[base], (MPI_Aint)lower, (MPI_Aint)extent, &made);
    return keep_type(error, made, handle);
}

int pb_type_free(int type)
{
    dtype_used[type] = 0;
    return MPI_Type_free(&dtype_items[type]);
}

/* ---- files --------------------------------------------------------------------- */

/* Bits of mode: 1 read only, 2 write only, 4 read and write, 8 create, 16 exclusive, 32 append. */
static int open_mode(int mode)
{
    return (mode & 1 ? MPI_MODE_RDONLY : 0) | (mode & 2 ? MPI_MODE_WRONLY : 0) |
           (mode & 4 ? MPI_MODE_RDWR : 0) | (mode & 8 ? MPI_MODE_CREATE : 0) |
           (mode & 16 ? MPI_MODE_EXCL : 0) | (mode & 32 ? MPI_MODE_APPEND : 0);
}

static int make_info(int count, const char *const *keys, const char *const *values, MPI_Info *info)
{
    *info = MPI_INFO_NULL;
    if (count == 0)
        return MPI_SUCCESS;
    int error = MPI_Info_create(info);
    for (int i = 0; error == MPI_SUCCESS && i < count; i++)
        error = MPI_Info_set(*info, keys[i], values[i]);
    return error;
}

int pb_file_open(int comm, const char *path, int mode, int hints, const char *const *keys,
                 const char *const *values, int *handle)
{
    MPI_Info info;
    MPI_File made;
    *handle = -1;
    int error = make_info(hints, keys, values, &info);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_File_open(comm_items[comm], path, open_mode(mode), info, &made);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    if (error != MPI_SUCCESS)
        return error;
    *handle = file_put(made);
    return *handle < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

int pb_file_close(int file)
{
    file_used[file] = 0;
    return MPI_File_close(&file_items[file]);
}

int pb_file_delete(const char *path) { return MPI_File_delete(path, MPI_INFO_NULL); }
int pb_file_sync(int file) { return MPI_File_sync(file_items[file]); }
int pb_file_set_size(int file, long long size) { return MPI_File_set_size(file_items[file], (MPI_Offset)size); }
int pb_file_preallocate(int file, long long size) { return MPI_File_preallocate(file_items[file], (MPI_Offset)size); }
int pb_file_set_atomicity(int file, int on) { return MPI_File_set_atomicity(file_items[file], on); }
int pb_file_seek(int file, long long offset) { return MPI_File_seek(file_items[file], (MPI_Offset)offset, MPI_SEEK_SET); }

int pb_file_get_size(int file, long long *size)
{
    MPI_Offset found = 0;
    int error = MPI_File_get_size(file_items[file], &found);
    *size = (long long)found;
    return error;
}

int pb_file_set_view(int file, long long displacement, int etype, int filetype)
{
    return MPI_File_set_view(file_items[file], (MPI_Offset)displacement, dtype_items[etype],
                             dtype_items[filetype], "native", MPI_INFO_NULL);
}

/* Effective hints: the number of them, then one at a time. */
int pb_file_hints(int file, int *count)
{
    MPI_Info info;
    *count = 0;
    int error = MPI_File_get_info(file_items[file], &info);
    if (error != MPI_SUCCESS || info == MPI_INFO_NULL)
        return error;
    error = MPI_Info_get_nkeys(info, count);
    MPI_Info_free(&info);
    return error;
}

int pb_file_hint(int file, int number, char *key, int key_size, char *value, int value_size)
{
    MPI_Info info;
    char name[MPI_MAX_INFO_KEY + 1], text[MPI_MAX_INFO_VAL + 1];
    int flag = 0;
    int error = MPI_File_get_info(file_items[file], &info);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_Info_get_nthkey(info, number, name);
    if (error == MPI_SUCCESS)
        error = MPI_Info_get(info, name, MPI_MAX_INFO_VAL, text, &flag);
    MPI_Info_free(&info);
    if (error != MPI_SUCCESS || !flag)
        return error;
    strncpy(key, name, key_size - 1);
    key[key_size - 1] = 0;
    strncpy(value, text, value_size - 1);
    value[value_size - 1] = 0;
    return MPI_SUCCESS;
}

/* The names of the hints of a file of this process alone, one per line: they tell which
 * MPI-IO this is. */
int pb_hint_names(const char *path, char *text, int size)
{
    MPI_File file;
    MPI_Info info;
    int count = 0, at = 0;
    text[0] = 0;
    int error = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_File_get_info(file, &info);
    if (error == MPI_SUCCESS && info != MPI_INFO_NULL) {
        MPI_Info_get_nkeys(info, &count);
        for (int i = 0; i < count; i++) {
            char key[MPI_MAX_INFO_KEY + 1];
            MPI_Info_get_nthkey(info, i, key);
            int length = (int)strlen(key);
            if (at + length + 2 > size)
                break;
            memcpy(text + at, key, length);
            text[at + length] = '\n';
            text[at += length + 1] = 0;
        }
        MPI_Info_free(&info);
    }
    MPI_File_close(&file);
    return error;
}

/* ---- data ------------------------------------------------------------------------ */

static int moved(int error, MPI_Status *status, MPI_Datatype type, long long *bytes)
{
    MPI_Count elements = 0;
    *bytes = 0;
    if (error == MPI_SUCCESS) {
        error = MPI_Get_elements_x(status, type, &elements);
        *bytes = elements < 0 ? 0 : (long long)elements;
    }
    return error;
}

/* Counts above 2^31 - 1 need the functions that MPI 4 brought. Those of MPICH 4.0 end the
 * process ("count <= INT_MAX" in mpi-io/write_at.c), so they are used from MPI 5 on. */
#if MPI_VERSION >= 5
#define LARGE 1
#define CALL(name, ...)                                                          \
    (count > INT_MAX ? name##_c(__VA_ARGS__, (MPI_Count)count, t, TAIL)          \
                     : name(__VA_ARGS__, (int)count, t, TAIL))
#else
#define LARGE 0
#define CALL(name, ...) name(__VA_ARGS__, (int)count, t, TAIL)
#endif

/* Whether counts above 2^31 - 1 can be given. */
int pb_large(void) { return LARGE; }

/* how: bit 0 write, bit 1 collective. count items of type at offset, in units of the view. */
int pb_file_at(int file, int how, long long offset, void *buffer, long long count, int type, long long *bytes)
{
    MPI_Status status;
    MPI_File f = file_items[file];
    MPI_Datatype t = dtype_items[type];
    MPI_Offset o = (MPI_Offset)offset;
    int error = 0;
#define TAIL &status
    switch (how) {
    case 0: error = CALL(MPI_File_read_at, f, o, buffer); break;
    case 1: error = CALL(MPI_File_write_at, f, o, buffer); break;
    case 2: error = CALL(MPI_File_read_at_all, f, o, buffer); break;
    case 3: error = CALL(MPI_File_write_at_all, f, o, buffer); break;
    default: return MPI_ERR_ARG;
    }
    return moved(error, &status, t, bytes);
}

/* The same at the shared file pointer: independent (shared) or in order of ranks (ordered). */
int pb_file_shared(int file, int how, void *buffer, long long count, int type, long long *bytes)
{
    MPI_Status status;
    MPI_File f = file_items[file];
    MPI_Datatype t = dtype_items[type];
    int error = 0;
    switch (how) {
    case 0: error = CALL(MPI_File_read_shared, f, buffer); break;
    case 1: error = CALL(MPI_File_write_shared, f, buffer); break;
    case 2: error = CALL(MPI_File_read_ordered, f, buffer); break;
    case 3: error = CALL(MPI_File_write_ordered, f, buffer); break;
    default: return MPI_ERR_ARG;
    }
    return moved(error, &status, t, bytes);
#undef TAIL
}

/* Non-blocking; the request is given to pb_wait. */
int pb_file_start(int file, int how, long long offset, void *buffer, long long count, int type, int *handle)
{
    MPI_Request request;
    MPI_File f = file_items[file];
    MPI_Datatype t = dtype_items[type];
    MPI_Offset o = (MPI_Offset)offset;
    int error = 0;
    *handle = -1;
#define TAIL &request
    switch (how) {
    case 0: error = CALL(MPI_File_iread_at, f, o, buffer); break;
    case 1: error = CALL(MPI_File_iwrite_at, f, o, buffer); break;
    case 2: error = CALL(MPI_File_iread_at_all, f, o, buffer); break;
    case 3: error = CALL(MPI_File_iwrite_at_all, f, o, buffer); break;
    default: return MPI_ERR_ARG;
    }
#undef TAIL
    return keep_request(error, request, handle);
}

/* Waits for one request; bytes are counted in units of one byte.
 *
 * MPI_Wait of Open MPI 4.1 ends the process when a transfer of a file has failed: it takes the
 * file for a communicator. There only the bytes moved are looked at; they tell of a failure.
 */
int pb_wait(int handle, long long *bytes)
{
    MPI_Status status;
#ifdef OMPI_MAJOR_VERSION
    int done = 0, error = MPI_SUCCESS;
    while (error == MPI_SUCCESS && !done)
        error = MPI_Request_get_status(request_items[handle], &done, &status);
    if (error == MPI_SUCCESS)
        error = MPI_Request_free(&request_items[handle]);
#else
    int error = MPI_Wait(&request_items[handle], &status);
#endif
    request_used[handle] = 0;
    return moved(error, &status, MPI_BYTE, bytes);
}
