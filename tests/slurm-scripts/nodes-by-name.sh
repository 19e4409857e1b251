#!/bin/bash
#SBATCH --nodelist=g-[001-004]
#SBATCH --ntasks=4
#SBATCH --time=30

srun hostname
