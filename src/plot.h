/* SPDX-License-Identifier: BSD-2-Clause
 * Plots, drawn by gnuplot. */
#pragma once
#include "tundish.h"

/* Looks early for what a later plot_draw() needs: a file name that ends with .svg,
 * .png or .pdf (else USAGE), and gnuplot (else MODULE). */
int plot_check(const char *path, struct tundish_error *error);

/* Runs gnuplot with `script` behind the lines that choose the kind of file. The file
 * appears whole or not at all. */
int plot_draw(const char *path, const char *script, struct tundish_error *error);
