#!/bin/bash
#SBATCH --job-name=relax
#SBATCH --account=chem-042
#SBATCH --qos=normal
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=48
#SBATCH --time=48:00:00
#SBATCH --no-requeue

mpirun vasp_std > vasp.out
