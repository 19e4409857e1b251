#!/bin/bash
#SBATCH --job-name="with spaces"   # a comment
#SBATCH --comment='it "is" quoted'
#SBATCH --time=5

true
