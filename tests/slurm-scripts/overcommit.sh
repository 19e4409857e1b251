#!/bin/bash
#SBATCH --overcommit
#SBATCH --ntasks=16
#SBATCH --time=10

true
