MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh);
MPI_File_write_at_all(fh, rank * 1048576, buf, 1048576, MPI_BYTE, MPI_STATUS_IGNORE);
MPI_File_close(&fh);
