#!/bin/bash
#SBATCH --nodes=4
#SBATCH --contiguous
#SBATCH --time=10

true
