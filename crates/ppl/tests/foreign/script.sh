#!/bin/bash
#SBATCH -N 2
module load ior
for t in 64k 1m; do
    mpirun -np 4 ior -a POSIX \
        -b 1m -t 64k -o data
done
