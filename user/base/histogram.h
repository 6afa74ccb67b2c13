/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A histogram of values over a wide range with a bounded relative error: each power of two
 * is divided evenly (log-linear, as HdrHistogram does). It takes any 64-bit value and grows as
 * larger ones come. Count, sum, least and greatest are exact, and so are mean and deviation unless
 * the sum exceeds 64 bits: they do not depend on the order in which values come. Memory is taken
 * for the values that occur and those near them, so that one with few values is small.
 */
#ifndef CLEW_BASE_HISTOGRAM_H
#define CLEW_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_LEAST_DIGITS 1
#define HISTOGRAM_MOST_DIGITS  5

#define HISTOGRAM_CHUNK 64

/* Shared memory is aligned to 8. */
typedef unsigned __int128 histogram_squares __attribute__((aligned(8)));

struct histogram {
	uint64_t **chunks; /* of HISTOGRAM_CHUNK counts each, NULL: all are 0 */
	size_t chunk_count;
	unsigned digits; /* values that differ in the first so many decimal digits are told apart */
	uint64_t count;
	uint64_t sum;
	uint64_t least; /* of the values; 0 without any */
	uint64_t greatest;
	histogram_squares squares; /* the sum of the values' squares, modulo 2^128 */
};

/* An empty histogram; `digits` from HISTOGRAM_LEAST_DIGITS to HISTOGRAM_MOST_DIGITS. */
struct histogram histogram_new(unsigned digits);
void histogram_done(struct histogram *histogram);

/* The bytes by which it grows once this value is added; 0 if there is memory for it already. */
size_t histogram_growth(const struct histogram *histogram, uint64_t value);
/* 0 or -ENOMEM; then nothing was added. */
int histogram_add(struct histogram *histogram, uint64_t value);
/* Adds all values of another one with as many digits. 0 or -ENOMEM. */
int histogram_merge(struct histogram *histogram, const struct histogram *other);

/*
 * The least value that `share` (0..1) of the values do not exceed, too large by less than one part
 * in 10^digits; 0 without values.
 */
uint64_t histogram_percentile(const struct histogram *histogram, double share);
/* The mean of the values; 0 without any. */
double histogram_mean(const struct histogram *histogram);
/* Their standard deviation. */
double histogram_deviation(const struct histogram *histogram);

#endif
