#!/bin/bash
#SBATCH --ntasks=32
#SBATCH --ntasks-per-node=32
#SBATCH --mem=120000
#SBATCH --time=1-0
#SBATCH --chdir=/scratch/case

decomposePar && mpirun simpleFoam -parallel
