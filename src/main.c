/* SPDX-License-Identifier: BSD-2-Clause
 * The program's entry: global options, dispatch, delayed errors of stdout. */
#include <stdio.h>

#include "tundish.h"

int main(void)
{
	printf("tundish %s\n%s\n", tundish_version(), tundish_features());
	return 0;
}
