#!/bin/bash
#SBATCH --time=90:30
#SBATCH --mem=512K

true
