/* SPDX-License-Identifier: BSD-2-Clause
 * Types of array elements. */
#include "elem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned char bytes;
	bool complex;
} types[] = {
	[TD_UINT8] = { "uint8", 1, false },
	[TD_INT8] = { "int8", 1, false },
	[TD_UINT16] = { "uint16", 2, false },
	[TD_INT16] = { "int16", 2, false },
	[TD_UINT32] = { "uint32", 4, false },
	[TD_INT32] = { "int32", 4, false },
	[TD_UINT64] = { "uint64", 8, false },
	[TD_INT64] = { "int64", 8, false },
	[TD_FLOAT32] = { "float32", 4, false },
	[TD_FLOAT64] = { "float64", 8, false },
	[TD_COMPLEX64] = { "complex64", 8, true },
	[TD_COMPLEX128] = { "complex128", 16, true },
};

const char *td_elem_name(enum td_elem dtype)
{
	return types[dtype].name;
}

size_t td_elem_bytes(enum td_elem dtype)
{
	return types[dtype].bytes;
}

size_t td_elem_number_bytes(enum td_elem dtype)
{
	return types[dtype].complex ? types[dtype].bytes / 2u : types[dtype].bytes;
}

#define VALUE(type)                                                                                \
	do {                                                                                       \
		type v;                                                                            \
		memcpy(&v, p, sizeof v);                                                           \
		return (double)v;                                                                  \
	} while (0)

double td_elem_value(enum td_elem dtype, const void *array, size_t i)
{
	const unsigned char *p = (const unsigned char *)array + i * td_elem_bytes(dtype);
	switch (dtype) {
	case TD_UINT8:
		VALUE(uint8_t);
	case TD_INT8:
		VALUE(int8_t);
	case TD_UINT16:
		VALUE(uint16_t);
	case TD_INT16:
		VALUE(int16_t);
	case TD_UINT32:
		VALUE(uint32_t);
	case TD_INT32:
		VALUE(int32_t);
	case TD_UINT64:
		VALUE(uint64_t);
	case TD_INT64:
		VALUE(int64_t);
	case TD_FLOAT32:
	case TD_COMPLEX64:
		VALUE(float);
	default:
		VALUE(double);
	}
}
