/* SPDX-License-Identifier: BSD-2-Clause
 * The texts of --help, made from the manual pages when the program is built. */
#pragma once
#include <stdio.h>

/* The help of a command; "" is the program's own. */
void help_print(FILE *to, const char *command);
