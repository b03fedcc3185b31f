/* SPDX-License-Identifier: BSD-2-Clause
 * Real numbers that come out the same everywhere: no libm, no locale. */
#include "real.h"

#include <string.h>

#define LN2_HI 0x1.62e42feep-1
#define LN2_LO 0x1.a39ef35793c76p-33

static double power_of_two(int n)
{
	uint64_t bits = (uint64_t)(n + 1023) << 52;
	double d;
	memcpy(&d, &bits, sizeof d);
	return d;
}

double td_log(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	int e = (int)(bits >> 52) - 1023;
	double m = x * power_of_two(-e);
	if (m > 1.4142135623730951) {
		m *= 0.5;
		e++;
	}
	/* log m = 2 artanh s, |s| < 0.172 */
	double s = (m - 1) / (m + 1), z = s * s, sum = 0;
	for (int i = 23; i >= 1; i -= 2)
		sum = sum * z + 1.0 / i;
	return (double)e * LN2_HI + ((double)e * LN2_LO + 2 * s * sum);
}

double td_exp(double x)
{
	double n = x * 1.4426950408889634;
	int k = (int)(n < 0 ? n - 0.5 : n + 0.5);
	double f = (x - k * LN2_HI) - k * LN2_LO, sum = 1;
	for (int i = 16; i >= 1; i--)
		sum = 1 + sum * f / i;
	return sum * power_of_two(k);
}

void td_sin_cos(double degrees, double *ret_sin, double *ret_cos)
{
	double quarters = degrees / 90;
	int q = (int)(quarters < 0 ? quarters - 0.5 : quarters + 0.5);
	double x = (degrees - 90.0 * q) * 0.017453292519943295, z = x * x, s = 1, c = 1;
	for (int i = 16; i >= 2; i -= 2) {
		s = 1 - s * z / (i * (i + 1));
		c = 1 - c * z / (i * (i - 1));
	}
	s *= x;
	const double turns[4][2] = { { s, c }, { c, -s }, { -s, -c }, { -c, s } };
	*ret_sin = turns[q & 3][0];
	*ret_cos = turns[q & 3][1];
}

static double power_of_ten(int n)
{
	double p = 1;
	for (; n > 0; n--)
		p *= 10; /* exact up to 22 */
	return p;
}

size_t td_parse_real(double *ret, const char *s, size_t len)
{
	size_t i = 0;
	bool negative = len > 0 && s[0] == '-', digits = false, point = false;
	uint64_t mantissa = 0;
	int exponent = 0;
	if (negative || (len > 0 && s[0] == '+'))
		i++;
	for (; i < len && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && !point)); i++) {
		if (s[i] == '.') {
			point = true;
			continue;
		}
		digits = true;
		bool fits = mantissa < 100000000000000000u;
		if (fits)
			mantissa = mantissa * 10 + (uint64_t)(s[i] - '0');
		exponent += fits ? -point : !point;
	}
	if (!digits)
		return 0;
	if (i + 1 < len && (s[i] == 'e' || s[i] == 'E')) {
		size_t j = i + 1;
		bool down = s[j] == '-';
		int e = 0;
		if (down || s[j] == '+')
			j++;
		if (j < len && s[j] >= '0' && s[j] <= '9') {
			for (; j < len && s[j] >= '0' && s[j] <= '9'; j++)
				e = TD_MIN(e * 10 + (s[j] - '0'), 400);
			exponent += down ? -e : e;
			i = j;
		}
	}
	exponent = TD_MAX(TD_MIN(exponent, 300), -300);
	double v = (double)mantissa;
	v = exponent < 0 ? v / power_of_ten(-exponent) : v * power_of_ten(exponent);
	*ret = negative ? -v : v;
	return i;
}
