#!/bin/bash
#SBATCH -N 2 -n 64 --exclusive -t 360
#SBATCH --mem=0
#SBATCH -o lmp.%j

mpirun lmp -in in.melt
