/* The second half of the MPI shim: datatypes, files, data. It is compiled behind
 * shim.c as one text and uses its handle tables; it is no unit of its own.
 */
#line 5 "files.c"

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

/* Bytes that a transfer of so many items moved, or minus the error code, which is positive. Of single bytes
 * MPI_Get_count tells it sooner. */
static inline long long moved(int error, MPI_Status *status, MPI_Datatype type, long long count)
{
    MPI_Count elements = 0;
    if (error == MPI_SUCCESS && type == MPI_BYTE && count <= INT_MAX) {
        int bytes = 0;
        error = MPI_Get_count(status, MPI_BYTE, &bytes);
        elements = bytes;
    } else if (error == MPI_SUCCESS) {
        error = MPI_Get_elements_x(status, type, &elements);
    }
    if (error != MPI_SUCCESS)
        return -(long long)error;
    return elements < 0 ? 0 : (long long)elements;
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

/* how: bit 0 write, bit 1 collective. count items of type at offset, in units of the view. Returns what `moved`
 * does, as pb_file_shared and pb_wait do. */
long long pb_file_at(int file, int how, long long offset, void *buffer, long long count, int type)
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
    default: return -MPI_ERR_ARG;
    }
    return moved(error, &status, t, count);
}

/* The same at the shared file pointer: independent (shared) or in order of ranks (ordered). */
long long pb_file_shared(int file, int how, void *buffer, long long count, int type)
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
    default: return -MPI_ERR_ARG;
    }
    return moved(error, &status, t, count);
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

/* Waits for one request.
 *
 * MPI_Wait of Open MPI 4.1 ends the process when a transfer of a file has failed: it takes the
 * file for a communicator. There only the bytes moved are looked at; they tell of a failure.
 */
long long pb_wait(int handle)
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
    return moved(error, &status, MPI_BYTE, LLONG_MAX);
}
