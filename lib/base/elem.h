/* SPDX-License-Identifier: BSD-2-Clause
 * Types of array elements, under NumPy's names. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum td_elem {
	TD_UINT8,
	TD_INT8,
	TD_UINT16,
	TD_INT16,
	TD_UINT32,
	TD_INT32,
	TD_UINT64,
	TD_INT64,
	TD_FLOAT16,
	TD_FLOAT32,
	TD_FLOAT64,
	TD_COMPLEX64, /* pairs of float32: real, imaginary */
	TD_COMPLEX128,
};

/* "uint16" */
const char *td_elem_name(enum td_elem dtype);
/* The type of that name; false when there is none. */
bool td_elem_named(enum td_elem *ret, const char *name, size_t len);
/* The same in the public header: enum tundish_dtype. */
int td_elem_dtype(enum td_elem dtype);
/* Of a value of a public type. */
size_t td_dtype_bytes(int dtype);
size_t td_elem_bytes(enum td_elem dtype);
/* Of one number: half of the element where that is complex. */
size_t td_elem_number_bytes(enum td_elem dtype);
/* Element i of an array as it is in memory; of a complex one the real part. */
double td_elem_value(enum td_elem dtype, const void *array, size_t i);
/* n values as float32, the nearest ones; of complex ones the real parts. The array may
 * lie anywhere. */
void td_elem_floats(float *to, enum td_elem dtype, const void *array, size_t n);
/* A value as an element: whole numbers are rounded to nearest and clamped, NaN is 0. */
void td_elem_put(enum td_elem dtype, void *element, double value);
/* Turns the bytes of each number around. */
void td_elem_swap(void *data, size_t bytes, size_t number_bytes);
