/* SPDX-License-Identifier: BSD-2-Clause
 * Which of several processes this is, as launchers tell it in the environment. */
#pragma once
#include <stdbool.h>

/* Looks at RANK and WORLD_SIZE (torchrun), OMPI_COMM_WORLD_RANK and _SIZE (mpirun),
 * SLURM_PROCID and SLURM_NTASKS (srun) and TF_CONFIG, in this order. True where both
 * numbers are there and fit; *ret_from is then what they were read from. */
bool ranks_from_environment(unsigned *ret_rank, unsigned *ret_world, const char **ret_from);
