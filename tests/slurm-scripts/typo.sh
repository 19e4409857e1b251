#!/bin/bash
#SBATCH --tiem=10
#SBATCH --nodes=2

true
