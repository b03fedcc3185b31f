/* SPDX-License-Identifier: BSD-2-Clause
 * Types of array elements. */
#include "elem.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "attr.h"
#include "bits.h"
#include "tundish.h"

static const struct {
	const char *name;
	unsigned char bytes;
	bool complex;
	int dtype;
} types[] = {
	[TD_UINT8] = { "uint8", 1, false, TUNDISH_UINT8 },
	[TD_INT8] = { "int8", 1, false, TUNDISH_INT8 },
	[TD_UINT16] = { "uint16", 2, false, TUNDISH_UINT16 },
	[TD_INT16] = { "int16", 2, false, TUNDISH_INT16 },
	[TD_UINT32] = { "uint32", 4, false, TUNDISH_UINT32 },
	[TD_INT32] = { "int32", 4, false, TUNDISH_INT32 },
	[TD_UINT64] = { "uint64", 8, false, TUNDISH_UINT64 },
	[TD_INT64] = { "int64", 8, false, TUNDISH_DTYPE_INT64 },
	[TD_FLOAT16] = { "float16", 2, false, TUNDISH_FLOAT16 },
	[TD_FLOAT32] = { "float32", 4, false, TUNDISH_FLOAT32 },
	[TD_FLOAT64] = { "float64", 8, false, TUNDISH_FLOAT64 },
	[TD_COMPLEX64] = { "complex64", 8, true, TUNDISH_COMPLEX64 },
	[TD_COMPLEX128] = { "complex128", 16, true, TUNDISH_COMPLEX128 },
};

bool td_elem_named(enum td_elem *ret, const char *name, size_t len)
{
	for (size_t i = 0; i < TD_COUNT(types); i++) {
		if (strlen(types[i].name) == len && memcmp(types[i].name, name, len) == 0) {
			*ret = (enum td_elem)i;
			return true;
		}
	}
	return false;
}

int td_elem_dtype(enum td_elem dtype)
{
	return types[dtype].dtype;
}

size_t td_dtype_bytes(int dtype)
{
	for (size_t i = 0; i < TD_COUNT(types); i++) {
		if (types[i].dtype == dtype)
			return types[i].bytes;
	}
	return 2; /* float16 and bfloat16 are types of batches alone */
}

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

/* Exact: a float holds every half. */
static double half_value(uint16_t h)
{
	unsigned exponent = h >> 10 & 31, fraction = h & 1023;
	double scale = 1.0 / (1 << 24), v;
	for (unsigned i = 1; i < exponent; i++)
		scale *= 2;
	if (exponent == 31)
		v = fraction ? (double)NAN : (double)INFINITY;
	else
		v = (exponent ? fraction + 1024 : fraction) * scale;
	return h >> 15 ? -v : v;
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
	case TD_FLOAT16: {
		uint16_t v;
		memcpy(&v, p, sizeof v);
		return half_value(v);
	}
	case TD_FLOAT32:
	case TD_COMPLEX64:
		VALUE(float);
	default:
		VALUE(double);
	}
}

#define FLOATS(type, step)                                      \
	do {                                                    \
		for (size_t i = 0; i < n; i++) {                \
			type v;                                 \
			memcpy(&v, p + i * (step), sizeof v);   \
			to[i] = (float)v;                       \
		}                                               \
	} while (0)

void td_elem_floats(float *restrict to, enum td_elem dtype, const void *restrict array, size_t n)
{
	const unsigned char *p = array;
	switch (dtype) {
	case TD_UINT8:
		FLOATS(uint8_t, 1);
		break;
	case TD_INT8:
		FLOATS(int8_t, 1);
		break;
	case TD_UINT16:
		FLOATS(uint16_t, 2);
		break;
	case TD_INT16:
		FLOATS(int16_t, 2);
		break;
	case TD_UINT32:
		FLOATS(uint32_t, 4);
		break;
	case TD_INT32:
		FLOATS(int32_t, 4);
		break;
	case TD_UINT64:
		FLOATS(uint64_t, 8);
		break;
	case TD_INT64:
		FLOATS(int64_t, 8);
		break;
	case TD_FLOAT16:
		for (size_t i = 0; i < n; i++)
			to[i] = (float)td_elem_value(dtype, p, i);
		break;
	case TD_FLOAT32:
		memcpy(to, array, n * sizeof *to);
		break;
	case TD_COMPLEX64:
		FLOATS(float, 8);
		break;
	case TD_FLOAT64:
		FLOATS(double, 8);
		break;
	case TD_COMPLEX128:
		FLOATS(double, 16);
		break;
	}
}

#define PUT(type, value)                         \
	do {                                     \
		const type v = (type)(value);    \
		memcpy(element, &v, sizeof v);   \
	} while (0)
#define PUT_WHOLE(type, low, end, most)                                  \
	PUT(type, value != value ? 0 : value < (low) ? (type)(low)       \
		: value >= (end) ? (type)(most) : (type)__builtin_rint(value))

void td_elem_put(enum td_elem dtype, void *element, double value)
{
	memset(element, 0, td_elem_bytes(dtype));
	switch (dtype) {
	case TD_UINT8:
		PUT_WHOLE(uint8_t, 0, 255, UINT8_MAX);
		break;
	case TD_INT8:
		PUT_WHOLE(int8_t, -128, 127, INT8_MAX);
		break;
	case TD_UINT16:
		PUT_WHOLE(uint16_t, 0, 65535, UINT16_MAX);
		break;
	case TD_INT16:
		PUT_WHOLE(int16_t, -32768, 32767, INT16_MAX);
		break;
	case TD_UINT32:
		PUT_WHOLE(uint32_t, 0, 4294967295., UINT32_MAX);
		break;
	case TD_INT32:
		PUT_WHOLE(int32_t, -2147483648., 2147483647., INT32_MAX);
		break;
	case TD_UINT64:
		PUT_WHOLE(uint64_t, 0, 18446744073709551616., UINT64_MAX);
		break;
	case TD_INT64:
		PUT_WHOLE(int64_t, -9223372036854775808., 9223372036854775808., INT64_MAX);
		break;
	case TD_FLOAT16:
		td_put_le16(element, td_half((float)value));
		break;
	case TD_FLOAT32:
	case TD_COMPLEX64:
		PUT(float, value);
		break;
	default:
		PUT(double, value);
	}
}

#define SWAP(type, swap)                                                                           \
	do {                                                                                       \
		for (size_t i = 0; i < bytes; i += sizeof(type)) {                                 \
			type v;                                                                    \
			memcpy(&v, (char *)data + i, sizeof v);                                    \
			v = swap(v);                                                               \
			memcpy((char *)data + i, &v, sizeof v);                                    \
		}                                                                                  \
	} while (0)

void td_elem_swap(void *data, size_t bytes, size_t number_bytes)
{
	if (number_bytes == 2)
		SWAP(uint16_t, __builtin_bswap16);
	else if (number_bytes == 4)
		SWAP(uint32_t, __builtin_bswap32);
	else if (number_bytes == 8)
		SWAP(uint64_t, __builtin_bswap64);
}
