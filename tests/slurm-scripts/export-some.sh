#!/bin/bash
#SBATCH --export=NONE,PATH
#SBATCH --time=5

env
