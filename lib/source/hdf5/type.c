/* SPDX-License-Identifier: BSD-2-Clause
 * Types of HDF5 elements, and numbers out of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "inside.h"

#define NAMES_MOST 65536
#define DEPTH_MOST 16

static bool varies(hid_t type)
{
	H5T_class_t class = H5Tget_class(type);
	return class == H5T_VLEN || (class == H5T_STRING && H5Tis_variable_str(type) > 0);
}

/* Offset of a compound's member in the file: members before it may be longer there. */
static size_t file_offset(hid_t type, unsigned member, unsigned addr_bytes)
{
	size_t at = H5Tget_member_offset(type, member), more = at;
	for (int i = 0; i < H5Tget_nmembers(type); i++) {
		hid_t other = H5Tget_member_type(type, (unsigned)i);
		if (H5Tget_member_offset(type, (unsigned)i) < at)
			more += td_h5_file_bytes(other, addr_bytes) - H5Tget_size(other);
		H5Tclose(other);
	}
	return more;
}

size_t td_h5_file_bytes(hid_t type, unsigned addr_bytes)
{
	size_t bytes = H5Tget_size(type);
	if (varies(type))
		return 4 + addr_bytes + 4;
	if (H5Tget_class(type) == H5T_ARRAY) {
		hid_t super = H5Tget_super(type);
		size_t each = H5Tget_size(super);
		bytes = each ? bytes / each * td_h5_file_bytes(super, addr_bytes) : bytes;
		H5Tclose(super);
	} else if (H5Tget_class(type) == H5T_COMPOUND) {
		for (int i = 0; i < H5Tget_nmembers(type); i++) {
			hid_t member = H5Tget_member_type(type, (unsigned)i);
			bytes += td_h5_file_bytes(member, addr_bytes) - H5Tget_size(member);
			H5Tclose(member);
		}
	}
	return bytes;
}

/* ---- numbers ---- */

static enum td_elem int_elem(size_t bytes, bool has_sign)
{
	enum td_elem first = bytes <= 1 ? TD_UINT8 : bytes <= 2 ? TD_UINT16 : bytes <= 4 ? TD_UINT32 : TD_UINT64;
	return has_sign ? first + 1 : first;
}

static hid_t memory_type(enum td_elem elem)
{
	switch (elem) {
	case TD_UINT8:
		return H5T_STD_U8LE;
	case TD_INT8:
		return H5T_STD_I8LE;
	case TD_UINT16:
		return H5T_STD_U16LE;
	case TD_INT16:
		return H5T_STD_I16LE;
	case TD_UINT32:
		return H5T_STD_U32LE;
	case TD_INT32:
		return H5T_STD_I32LE;
	case TD_UINT64:
		return H5T_STD_U64LE;
	case TD_INT64:
		return H5T_STD_I64LE;
	case TD_FLOAT32:
		return H5T_IEEE_F32LE;
	default:
		return H5T_IEEE_F64LE;
	}
}

/* Numbers of odd layouts are turned by the library. */
static int convert_by_library(struct td_h5_type *t, hid_t type, struct tundish_error *e)
{
	t->swap = false;
	t->from = H5Tcopy(type);
	t->to = H5Tcopy(memory_type(t->elem));
	return t->from < 0 || t->to < 0 ? td_err_memory(e) : 0;
}

static int int_type(struct td_h5_type *t, hid_t type, struct tundish_error *e)
{
	bool bits = H5Tget_class(type) == H5T_BITFIELD;
	t->what = TD_H5_NUMBER;
	t->bytes = H5Tget_size(type);
	if (t->bytes == 0 || t->bytes > 8)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "integers of %zu bytes", t->bytes);
	t->elem = int_elem(t->bytes, !bits && H5Tget_sign(type) == H5T_SGN_2);
	t->swap = H5Tget_order(type) == H5T_ORDER_BE && t->bytes > 1;
	bool plain = H5Tget_precision(type) == 8 * t->bytes && H5Tget_offset(type) == 0 &&
	    t->bytes == td_elem_bytes(t->elem) && (t->bytes == 1 || t->swap || H5Tget_order(type) == H5T_ORDER_LE);
	if (plain)
		return 0;
	return bits ? td_err(e, TUNDISH_E_UNSUPPORTED, "bit fields of an odd layout") : convert_by_library(t, type, e);
}

/* Halves have no type of the library's own: they are known by their layout. */
static bool is_half(hid_t type)
{
	size_t sign, exponent, exponent_bits, fraction, fraction_bits;
	return H5Tget_size(type) == 2 &&
	    H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction, &fraction_bits) >= 0 && sign == 15 &&
	    exponent == 10 && exponent_bits == 5 && fraction == 0 && fraction_bits == 10 && H5Tget_ebias(type) == 15;
}

static int float_type(struct td_h5_type *t, hid_t type, struct tundish_error *e)
{
	t->what = TD_H5_NUMBER;
	t->bytes = H5Tget_size(type);
	if (t->bytes == 0 || t->bytes > 8)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "floats of %zu bytes", t->bytes);
	t->swap = H5Tget_order(type) == H5T_ORDER_BE;
	t->elem = is_half(type) ? TD_FLOAT16 : t->bytes <= 4 ? TD_FLOAT32 : TD_FLOAT64;
	static const struct {
		enum td_elem elem;
		hid_t *le, *be;
	} known[] = { { TD_FLOAT32, &H5T_IEEE_F32LE_g, &H5T_IEEE_F32BE_g },
		{ TD_FLOAT64, &H5T_IEEE_F64LE_g, &H5T_IEEE_F64BE_g } };
	for (unsigned i = 0; i < TD_COUNT(known); i++)
		if (H5Tequal(type, *known[i].le) > 0 || H5Tequal(type, *known[i].be) > 0)
			return 0;
	return t->elem == TD_FLOAT16 ? 0 : convert_by_library(t, type, e);
}

/* The library wants room for the larger of both types: that is ours. */
int td_h5_numbers_inside(void *out, const struct td_h5_type *t, const uint8_t *in, size_t n, size_t step,
    struct tundish_error *e)
{
	if (step == t->bytes)
		memcpy(out, in, n * t->bytes);
	else
		for (size_t i = 0; i < n; i++)
			memcpy((uint8_t *)out + i * t->bytes, in + i * step, t->bytes);
	if (t->from)
		return H5Tconvert(t->from, t->to, n, out, NULL, H5P_DEFAULT) < 0 ?
		    td_h5_fail(e, TUNDISH_E_CORRUPT, "numbers cannot be converted") : 0;
	if (t->swap)
		td_elem_swap(out, n * t->bytes, td_elem_number_bytes(t->elem));
	return 0;
}

int td_h5_numbers(void *out, const struct td_h5_type *t, const uint8_t *in, size_t n, size_t step,
    struct tundish_error *e)
{
	if (t->from)
		td_h5_enter();
	int rc = td_h5_numbers_inside(out, t, in, n, step, e);
	if (t->from)
		td_h5_leave();
	return rc;
}

#define INTEGER(type)                                                                              \
	do {                                                                                       \
		type v;                                                                            \
		memcpy(&v, number, sizeof v);                                                      \
		*ret = (int64_t)v;                                                                 \
		return true;                                                                       \
	} while (0)

bool td_h5_integer(int64_t *ret, enum td_elem elem, const void *number)
{
	double real;
	uint64_t large;
	switch (elem) {
	case TD_UINT8:
		INTEGER(uint8_t);
	case TD_INT8:
		INTEGER(int8_t);
	case TD_UINT16:
		INTEGER(uint16_t);
	case TD_INT16:
		INTEGER(int16_t);
	case TD_UINT32:
		INTEGER(uint32_t);
	case TD_INT32:
		INTEGER(int32_t);
	case TD_INT64:
		INTEGER(int64_t);
	case TD_UINT64:
		memcpy(&large, number, sizeof large);
		*ret = (int64_t)large;
		return large <= INT64_MAX;
	default:
		real = td_elem_value(elem, number, 0);
		if (!(real >= -9007199254740992.0 && real <= 9007199254740992.0) || real != (double)(int64_t)real)
			return false;
		*ret = (int64_t)real;
		return true;
	}
}

static int enum_type(struct td_h5_type *t, hid_t type, struct tundish_error *e)
{
	hid_t super = H5Tget_super(type);
	int rc = super < 0 || H5Tget_class(super) != H5T_INTEGER ?
	    td_err(e, TUNDISH_E_UNSUPPORTED, "an enumeration of no integers") : int_type(t, super, e);
	int n = H5Tget_nmembers(type);
	H5Tclose(super);
	if (rc < 0 || n <= 0)
		return rc;
	struct td_h5_names *names = &t->enumeration;
	names->values = calloc((size_t)n, sizeof *names->values);
	names->names = calloc((size_t)n, sizeof *names->names);
	if (!names->values || !names->names)
		return td_err_memory(e);
	for (int i = 0; rc == 0 && i < TD_MIN(n, NAMES_MOST); i++) {
		uint8_t raw[8] = { 0 }, value[8] = { 0 };
		char *name = H5Tget_member_name(type, (unsigned)i);
		if (!name || H5Tget_member_value(type, (unsigned)i, raw) < 0)
			rc = td_h5_fail(e, TUNDISH_E_CORRUPT, "enumeration");
		else
			rc = td_h5_numbers_inside(value, t, raw, 1, t->bytes, e);
		names->names[i] = name ? strdup(name) : NULL;
		names->n++;
		H5free_memory(name);
		if (rc == 0 && !names->names[i])
			rc = td_err_memory(e);
		if (rc == 0)
			td_h5_integer(&names->values[i], t->elem, value);
	}
	return rc;
}

/* ---- the others ---- */

/* NumPy's complex numbers: a compound of two floats called r and i. */
static bool complex_type(struct td_h5_type *t, hid_t type)
{
	struct td_h5_type half = { 0 };
	if (H5Tget_nmembers(type) != 2 || H5Tget_member_index(type, "r") != 0 || H5Tget_member_index(type, "i") != 1)
		return false;
	hid_t r = H5Tget_member_type(type, 0), i = H5Tget_member_type(type, 1);
	bool good = H5Tequal(r, i) > 0 && H5Tget_class(r) == H5T_FLOAT && float_type(&half, r, NULL) == 0 &&
	    !half.from && half.elem != TD_FLOAT16 && H5Tget_size(type) == 2 * half.bytes &&
	    H5Tget_member_offset(type, 1) == half.bytes;
	if (good) {
		t->what = TD_H5_NUMBER;
		t->elem = half.elem == TD_FLOAT32 ? TD_COMPLEX64 : TD_COMPLEX128;
		t->bytes = 2 * half.bytes;
		t->swap = half.swap;
	}
	td_h5_type_free(&half);
	H5Tclose(r);
	H5Tclose(i);
	return good;
}

bool td_h5_is_complex(hid_t type)
{
	struct td_h5_type t = { 0 };
	return complex_type(&t, type);
}

static int vlen_type(struct td_h5_type *t, hid_t type, struct tundish_error *e)
{
	hid_t super = H5Tget_super(type);
	H5T_class_t class = super < 0 ? H5T_NO_CLASS : H5Tget_class(super);
	int rc = 0;
	if (class == H5T_INTEGER || class == H5T_BITFIELD)
		rc = int_type(t, super, e);
	else if (class == H5T_FLOAT)
		rc = float_type(t, super, e);
	else
		t->what = TD_H5_OTHER;
	if (rc == 0 && t->what == TD_H5_NUMBER)
		t->what = TD_H5_VLEN;
	H5Tclose(super);
	return rc;
}

static int text_type(struct td_h5_type *t, hid_t type)
{
	t->what = H5Tis_variable_str(type) > 0 ? TD_H5_VTEXT : TD_H5_TEXT;
	t->bytes = t->what == TD_H5_TEXT ? H5Tget_size(type) : 1;
	t->blanks = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
	return 0;
}

static int read_type(struct td_h5_type *t, hid_t type, unsigned addr_bytes, unsigned depth, struct tundish_error *e);

static int array_type(struct td_h5_type *t, hid_t type, unsigned addr_bytes, unsigned depth,
    struct tundish_error *e)
{
	hsize_t dims[H5S_MAX_RANK];
	int n = H5Tget_array_dims2(type, dims);
	if (n <= 0 || t->n_dims + (unsigned)n > TD_AXES)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "arrays of %d axes in each element", n);
	for (int i = 0; i < n; i++) {
		t->dims[t->n_dims++] = dims[i];
		if (td_mul_overflow(t->count, (uint64_t)dims[i], &t->count) || t->count > INT64_MAX / 16)
			return td_err(e, TUNDISH_E_LIMIT, "array of more than 2^59 numbers");
	}
	hid_t super = H5Tget_super(type);
	int rc = super < 0 ? td_h5_fail(e, TUNDISH_E_CORRUPT, "type") : read_type(t, super, addr_bytes, depth + 1, e);
	H5Tclose(super);
	return rc;
}

static int read_type(struct td_h5_type *t, hid_t type, unsigned addr_bytes, unsigned depth, struct tundish_error *e)
{
	if (depth > DEPTH_MOST)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "types in types more than %d deep", DEPTH_MOST);
	switch (H5Tget_class(type)) {
	case H5T_INTEGER:
	case H5T_BITFIELD:
		return int_type(t, type, e);
	case H5T_FLOAT:
		return float_type(t, type, e);
	case H5T_ENUM:
		return enum_type(t, type, e);
	case H5T_STRING:
		return text_type(t, type);
	case H5T_VLEN:
		return vlen_type(t, type, e);
	case H5T_ARRAY:
		return array_type(t, type, addr_bytes, depth, e);
	case H5T_OPAQUE:
		t->what = TD_H5_OPAQUE;
		t->bytes = H5Tget_size(type);
		return 0;
	case H5T_COMPOUND:
		t->what = TD_H5_OTHER;
		complex_type(t, type);
		return 0;
	default:
		t->what = TD_H5_OTHER;
		return 0;
	}
}

static void name_type(struct td_h5_type *t, hid_t type)
{
	static const char *const others[] = { [H5T_COMPOUND] = "compound", [H5T_REFERENCE] = "reference",
		[H5T_TIME] = "time", [H5T_VLEN] = "variable-length lists", [H5T_ARRAY] = "array" };
	H5T_class_t class = H5Tget_class(type);
	const char *swap = t->swap ? ", big-endian" : "";
	const char *elem = t->what == TD_H5_NUMBER || t->what == TD_H5_VLEN ? td_elem_name(t->elem) : "";
	if (t->what == TD_H5_VLEN)
		snprintf(t->name, sizeof t->name, "variable-length %s%s", elem, swap);
	else if (t->what == TD_H5_NUMBER)
		snprintf(t->name, sizeof t->name, "%s%s%s", t->enumeration.n ? "enumeration in " : "", elem, swap);
	else if (t->what == TD_H5_VTEXT)
		snprintf(t->name, sizeof t->name, "variable-length text");
	else if (t->what == TD_H5_TEXT)
		snprintf(t->name, sizeof t->name, "text of %zu bytes", t->bytes);
	else if (t->what == TD_H5_OPAQUE)
		snprintf(t->name, sizeof t->name, "opaque, %zu bytes", t->bytes);
	else
		snprintf(t->name, sizeof t->name, "%s", class >= 0 && (size_t)class < TD_COUNT(others) && others[class] ?
		    others[class] : "unknown type");
}

/* Goes down into a compound: a new type, and where it is. */
static hid_t find_member(hid_t type, const char *member, unsigned addr_bytes, size_t *offset)
{
	hid_t at = H5Tcopy(type);
	for (const char *name = member; at >= 0 && name; name = strchr(name, '/') ? strchr(name, '/') + 1 : NULL) {
		char *part = strndup(name, strcspn(name, "/"));
		int i = part && H5Tget_class(at) == H5T_COMPOUND ? H5Tget_member_index(at, part) : -1;
		hid_t next = i < 0 ? -1 : H5Tget_member_type(at, (unsigned)i);
		*offset += i < 0 ? 0 : file_offset(at, (unsigned)i, addr_bytes);
		free(part);
		H5Tclose(at);
		at = next;
	}
	H5Eclear2(H5E_DEFAULT);
	return at;
}

int td_h5_type(struct td_h5_type *ret, hid_t type, const char *member, unsigned addr_bytes,
    struct tundish_error *e)
{
	struct td_h5_type t = { .count = 1 };
	hid_t at = find_member(type, member, addr_bytes, &t.offset);
	if (at < 0)
		return td_err(e, TUNDISH_E_NOT_FOUND, "no member %s in its elements", TD_ESC(member));
	int rc = read_type(&t, at, addr_bytes, 0, e);
	name_type(&t, at);
	H5Tclose(at);
	if (rc < 0)
		td_h5_type_free(&t);
	else
		*ret = t;
	return rc;
}

void td_h5_type_free(struct td_h5_type *t)
{
	for (size_t i = 0; i < t->enumeration.n; i++)
		free(t->enumeration.names[i]);
	free(t->enumeration.values);
	free(t->enumeration.names);
	if (t->from > 0)
		H5Tclose(t->from);
	if (t->to > 0)
		H5Tclose(t->to);
	*t = (struct td_h5_type){ 0 };
}

bool td_h5_members(hid_t type, bool (*visit)(void *ctx, const char *member), void *ctx)
{
	bool ok = true;
	for (int i = 0; ok && H5Tget_class(type) == H5T_COMPOUND && i < TD_MIN(H5Tget_nmembers(type), NAMES_MOST); i++) {
		char *name = H5Tget_member_name(type, (unsigned)i);
		ok = name && visit(ctx, name);
		H5free_memory(name);
	}
	return ok;
}
