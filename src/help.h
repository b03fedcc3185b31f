/* SPDX-License-Identifier: BSD-2-Clause
 * The texts of --help, made from the manual pages when the program is built. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

/* The help of a command, or all of a page that is of none ("flow"); "" is the program's own.
 * False: there is none. */
bool help_print(FILE *to, const char *page);
