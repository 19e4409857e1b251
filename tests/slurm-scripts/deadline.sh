#!/bin/bash
#SBATCH --deadline=2099-12-31T23:59:00
#SBATCH --time=1:00:00

./report
