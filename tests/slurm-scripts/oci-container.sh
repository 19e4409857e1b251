#!/bin/bash
#SBATCH --container=/images/bundle
#SBATCH --time=10

true
