/* The reference of the MPI-IO figures: a plain loop of MPI_File_write_at or MPI_File_read_at, as an
 * application has it. Arguments: file, rounds, calls in a round, w or r, after it c to ask how many bytes
 * each call has moved and to read the clock before and after it, as Parabench and whoever checks and times
 * transfers does. Prints the nanoseconds of each round. What it writes differs from call to call: one block that stays in the processor's first cache
 * would be copied faster than anything an application has computed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BYTES = 4096, BLOCKS = 4096 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    if (argc != 5)
        return 2;
    int rounds = atoi(argv[2]), calls = atoi(argv[3]), writes = argv[4][0] == 'w', error = 0;
    int counts = argv[4][1] == 'c', moved = BYTES;
    char *data = aligned_alloc(BYTES, (size_t)BYTES * BLOCKS);
    for (size_t i = 0; i < (size_t)BYTES * BLOCKS; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    int mode = writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 1;
    size_t block = 0;
    double in_calls = 0;
    for (int round = 0; round < rounds; round++) {
        double start = MPI_Wtime();
        for (int i = 0; i < calls && !error; i++) {
            MPI_Offset at = (MPI_Offset)i * BYTES;
            double called = counts ? now() : 0;
            if (writes)
                error = MPI_File_write_at(file, at, data + block * BYTES, BYTES, MPI_BYTE, &status);
            else
                error = MPI_File_read_at(file, at, data, BYTES, MPI_BYTE, &status);
            if (counts)
                in_calls += now() - called;
            if (counts && !error)
                error = MPI_Get_count(&status, MPI_BYTE, &moved) || moved != BYTES;
            block = (block + 1) % BLOCKS;
        }
        if (error)
            return 1;
        printf("%.0f\n", (MPI_Wtime() - start) * 1e9);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    /* So that the times have a use, as far as a compiler knows. */
    return in_calls < 0;
}
