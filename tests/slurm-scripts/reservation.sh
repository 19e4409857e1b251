#!/bin/bash
#SBATCH --reservation=maint-tests
#SBATCH --nodes=1
#SBATCH --time=20

./burn-in
