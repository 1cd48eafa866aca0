/* The reference of the MPI-IO figure: a plain loop of MPI_File_write_at, as an application has
 * it. Arguments: file, rounds, writes in a round. Prints the nanoseconds of each round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    if (argc != 4)
        return 2;
    int rounds = atoi(argv[2]), writes = atoi(argv[3]);
    char *buffer = aligned_alloc(BYTES, BYTES);
    memset(buffer, 7, BYTES);
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 1;
    for (int round = 0; round < rounds; round++) {
        double start = MPI_Wtime();
        for (int i = 0; i < writes; i++)
            if (MPI_File_write_at(file, (MPI_Offset)i * BYTES, buffer, BYTES, MPI_BYTE, &status) != MPI_SUCCESS)
                return 1;
        printf("%.0f\n", (MPI_Wtime() - start) * 1e9);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
