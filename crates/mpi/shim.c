/* The MPI shim: a few dozen C functions with plain integer handles.
 *
 * The parabench binary is not linked with MPI. A site's own mpicc compiles this
 * file into a small shared library, which the binary opens with dlopen. So the
 * layout of MPI_Comm, MPI_File and MPI_Status, which differs between MPIs, never
 * crosses the border: only int, long long, char* and void* do.
 *
 * Every function returns MPI_SUCCESS (0) or an MPI error code; pb_error gives its
 * class and text. Handles are indices into the tables below; 0 is MPI_COMM_WORLD.
 * What is not here: any decision. Loops, splitting and policy are in Rust.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define PB_SHIM_VERSION 1

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

static MPI_Win counter_window = MPI_WIN_NULL;
static long long *counter_memory;

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
    if (comm_put(MPI_COMM_WORLD) != 0 || dtype_put(MPI_BYTE) != 0)
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

/* ---- collectives over bytes and 64-bit integers ---------------------------- */

int pb_barrier(int comm) { return MPI_Barrier(comm_items[comm]); }

int pb_bcast(int comm, void *bytes, int count, int root)
{
    return MPI_Bcast(bytes, count, MPI_BYTE, root, comm_items[comm]);
}

/* op: 0 sum, 1 min, 2 max; in place on every rank. */
int pb_allreduce(int comm, long long *values, int count, int op)
{
    MPI_Op ops[3] = {MPI_SUM, MPI_MIN, MPI_MAX};
    return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_LONG_LONG_INT, ops[op], comm_items[comm]);
}

int pb_gather_counts(int comm, int count, int *counts)
{
    return MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, comm_items[comm]);
}

int pb_gatherv(int comm, const void *bytes, int count, void *all, const int *counts, const int *starts)
{
    return MPI_Gatherv(bytes, count, MPI_BYTE, all, counts, starts, MPI_BYTE, 0, comm_items[comm]);
}

/* ---- messages of bytes between two ranks ----------------------------------- */

int pb_send(int comm, const void *bytes, int count, int to, int tag)
{
    return MPI_Send(bytes, count, MPI_BYTE, to, tag, comm_items[comm]);
}

int pb_recv(int comm, void *bytes, int count, int from, int tag)
{
    return MPI_Recv(bytes, count, MPI_BYTE, from, tag, comm_items[comm], MPI_STATUS_IGNORE);
}

/* Looks for a message with this tag from anybody; *count is -1 if there is none. */
int pb_probe(int comm, int tag, int *from, int *count)
{
    MPI_Status status;
    int flag = 0;
    int error = MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_items[comm], &flag, &status);
    *count = -1;
    if (error == MPI_SUCCESS && flag) {
        *from = status.MPI_SOURCE;
        error = MPI_Get_count(&status, MPI_BYTE, count);
    }
    return error;
}

/* ---- a window of counters on world rank 0, for shared work and signals ------ */

int pb_counters_make(int count)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Aint bytes = rank == 0 ? (MPI_Aint)count * (MPI_Aint)sizeof(long long) : 0;
    int error = MPI_Win_allocate(bytes, sizeof(long long), MPI_INFO_NULL, MPI_COMM_WORLD,
                                 &counter_memory, &counter_window);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Win_set_errhandler(counter_window, MPI_ERRORS_RETURN);
    if (bytes > 0)
        memset(counter_memory, 0, bytes);
    error = MPI_Barrier(MPI_COMM_WORLD);
    return error != MPI_SUCCESS ? error : MPI_Win_lock_all(0, counter_window);
}

/* Adds and gives the value before. */
int pb_counter_add(int index, long long add, long long *before)
{
    int error = MPI_Fetch_and_op(&add, before, MPI_LONG_LONG_INT, 0, index, MPI_SUM, counter_window);
    return error != MPI_SUCCESS ? error : MPI_Win_flush(0, counter_window);
}

int pb_counters_free(void)
{
    if (counter_window == MPI_WIN_NULL)
        return MPI_SUCCESS;
    MPI_Win_unlock_all(counter_window);
    return MPI_Win_free(&counter_window);
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

/* how: bit 0 write, bit 1 collective. count items of type at offset, in units of the view. */
int pb_file_at(int file, int how, long long offset, void *buffer, int count, int type, long long *bytes)
{
    MPI_Status status;
    MPI_File f = file_items[file];
    MPI_Datatype t = dtype_items[type];
    MPI_Offset o = (MPI_Offset)offset;
    int error = 0;
    switch (how) {
    case 0: error = MPI_File_read_at(f, o, buffer, count, t, &status); break;
    case 1: error = MPI_File_write_at(f, o, buffer, count, t, &status); break;
    case 2: error = MPI_File_read_at_all(f, o, buffer, count, t, &status); break;
    case 3: error = MPI_File_write_at_all(f, o, buffer, count, t, &status); break;
    default: return MPI_ERR_ARG;
    }
    return moved(error, &status, t, bytes);
}

/* The same at the shared file pointer: independent (shared) or in order of ranks (ordered). */
int pb_file_shared(int file, int how, void *buffer, int count, int type, long long *bytes)
{
    MPI_Status status;
    MPI_File f = file_items[file];
    MPI_Datatype t = dtype_items[type];
    int error = 0;
    switch (how) {
    case 0: error = MPI_File_read_shared(f, buffer, count, t, &status); break;
    case 1: error = MPI_File_write_shared(f, buffer, count, t, &status); break;
    case 2: error = MPI_File_read_ordered(f, buffer, count, t, &status); break;
    case 3: error = MPI_File_write_ordered(f, buffer, count, t, &status); break;
    default: return MPI_ERR_ARG;
    }
    return moved(error, &status, t, bytes);
}

/* Non-blocking; the request is given to pb_wait. */
int pb_file_start(int file, int how, long long offset, void *buffer, int count, int type, int *handle)
{
    MPI_Request request;
    MPI_File f = file_items[file];
    MPI_Datatype t = dtype_items[type];
    MPI_Offset o = (MPI_Offset)offset;
    int error = 0;
    *handle = -1;
    switch (how) {
    case 0: error = MPI_File_iread_at(f, o, buffer, count, t, &request); break;
    case 1: error = MPI_File_iwrite_at(f, o, buffer, count, t, &request); break;
    case 2: error = MPI_File_iread_at_all(f, o, buffer, count, t, &request); break;
    case 3: error = MPI_File_iwrite_at_all(f, o, buffer, count, t, &request); break;
    default: return MPI_ERR_ARG;
    }
    if (error != MPI_SUCCESS)
        return error;
    *handle = request_put(request);
    return *handle < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* Waits for one request; bytes are counted in units of one byte. */
int pb_wait(int handle, long long *bytes)
{
    MPI_Status status;
    int error = MPI_Wait(&request_items[handle], &status);
    request_used[handle] = 0;
    return moved(error, &status, MPI_BYTE, bytes);
}

/* Looks whether a request is done, without waiting. */
int pb_test(int handle, int *done, long long *bytes)
{
    MPI_Status status;
    *done = 0;
    *bytes = 0;
    int error = MPI_Test(&request_items[handle], done, &status);
    if (error != MPI_SUCCESS || !*done)
        return error;
    request_used[handle] = 0;
    return moved(error, &status, MPI_BYTE, bytes);
}
