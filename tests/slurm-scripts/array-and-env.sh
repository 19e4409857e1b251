#!/bin/bash
#SBATCH --array=1-3
#SBATCH --time=5
#SBATCH --kill-on-invalid-dep=yes

true
