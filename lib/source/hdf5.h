/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5 files: what the core knows of them; the rest is in the module. */
#pragma once
#include "format.h"

extern const struct td_format td_format_hdf5;
