/* SPDX-License-Identifier: BSD-2-Clause
 * Arrays from instruments: whole, frame by frame, or in tiles. */
#pragma once
#include "format.h"

extern const struct td_format td_format_arrays;
