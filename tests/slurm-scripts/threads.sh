#!/bin/bash
#SBATCH --threads-per-core=1
#SBATCH --sockets-per-node=2
#SBATCH --cores-per-socket=16
#SBATCH --cpus-per-task=32
#SBATCH --time=30

./omp
