/* SPDX-License-Identifier: BSD-2-Clause
 * What the trivial module offers. */
#pragma once

struct trivial_vtable {
	int (*answer)(void);
};
