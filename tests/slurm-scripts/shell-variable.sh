#!/bin/bash
#SBATCH --output=$HOME/x.out
#SBATCH --time=5

true
