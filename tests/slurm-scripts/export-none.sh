#!/bin/bash
#SBATCH --export=NONE
#SBATCH --time=5

env | sort
