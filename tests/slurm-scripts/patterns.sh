#!/bin/bash
#SBATCH --output=%u/%x/%N-%5j-%t.out
#SBATCH --time=5

hostname
