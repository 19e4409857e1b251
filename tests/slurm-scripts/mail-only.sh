#!/bin/bash
#SBATCH --mail-type=ALL
#SBATCH --mail-user=$USER
#SBATCH --time=1

true
