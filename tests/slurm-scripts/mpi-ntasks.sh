#!/bin/bash
#SBATCH -n 128
#SBATCH --mem-per-cpu=1800M
#SBATCH -t 08:00:00
#SBATCH -p batch

mpiexec ./solver input.nml
