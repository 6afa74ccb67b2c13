/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log-linear histogram. */
#include "base/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of bits that tell apart values that differ in the first `digits` digits. */
static unsigned bits_of(unsigned digits)
{
	uint64_t places = 1;

	while (digits--)
		places *= 10;
	return 64u - (unsigned)__builtin_clzll(places * 2 - 1);
}

/*
 * Values below 2^bits have a place each. Above, each power of two has half as many places, so that
 * a value's first `bits` bits are its place.
 */
static size_t place_of(unsigned bits, uint64_t value)
{
	unsigned shift = value >> bits ? 64u - (unsigned)__builtin_clzll(value) - bits : 0;

	return ((size_t)shift << (bits - 1)) + (size_t)(value >> shift);
}

/* The greatest value of a place. */
static uint64_t value_of(unsigned bits, size_t place)
{
	unsigned shift = place >> bits ? (unsigned)(place >> (bits - 1)) - 1 : 0;
	uint64_t first = place - ((uint64_t)shift << (bits - 1));

	return (first << shift) + (((uint64_t)1 << shift) - 1);
}

struct histogram histogram_new(unsigned digits)
{
	return (struct histogram){.digits = digits};
}

void histogram_done(struct histogram *histogram)
{
	for (size_t i = 0; i < histogram->chunk_count; i++)
		free(histogram->chunks[i]);
	free(histogram->chunks);
	*histogram = (struct histogram){.digits = histogram->digits};
}

static int reserve(struct histogram *histogram, size_t count)
{
	uint64_t **larger;

	if (count <= histogram->chunk_count)
		return 0;
	larger = realloc(histogram->chunks, count * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	memset(larger + histogram->chunk_count, 0,
	       (count - histogram->chunk_count) * sizeof(*larger));
	histogram->chunks = larger;
	histogram->chunk_count = count;
	return 0;
}

/* The chunk with this number, with memory; NULL: there is none left. */
static uint64_t *chunk_at(struct histogram *histogram, size_t number)
{
	if (reserve(histogram, number + 1) < 0)
		return NULL;
	if (!histogram->chunks[number])
		histogram->chunks[number] = calloc(HISTOGRAM_CHUNK, sizeof(uint64_t));
	return histogram->chunks[number];
}

size_t histogram_growth(const struct histogram *histogram, uint64_t value)
{
	size_t chunk = place_of(bits_of(histogram->digits), value) / HISTOGRAM_CHUNK;

	if (chunk < histogram->chunk_count)
		return histogram->chunks[chunk] ? 0 : HISTOGRAM_CHUNK * sizeof(uint64_t);
	return HISTOGRAM_CHUNK * sizeof(uint64_t) +
	       (chunk + 1 - histogram->chunk_count) * sizeof(*histogram->chunks);
}

int histogram_add(struct histogram *histogram, uint64_t value)
{
	size_t place = place_of(bits_of(histogram->digits), value);
	uint64_t *chunk = chunk_at(histogram, place / HISTOGRAM_CHUNK);

	if (!chunk)
		return -ENOMEM;
	chunk[place % HISTOGRAM_CHUNK]++;
	if (!histogram->count || value < histogram->least)
		histogram->least = value;
	if (value > histogram->greatest)
		histogram->greatest = value;
	histogram->sum += value;
	histogram->squares += (unsigned __int128)value * value;
	histogram->count++;
	return 0;
}

int histogram_merge(struct histogram *histogram, const struct histogram *other)
{
	if (!other->count)
		return 0;
	/* All memory is there before anything is added. */
	for (size_t i = 0; i < other->chunk_count; i++)
		if (other->chunks[i] && !chunk_at(histogram, i))
			return -ENOMEM;
	for (size_t i = 0; i < other->chunk_count; i++)
		for (size_t k = 0; other->chunks[i] && k < HISTOGRAM_CHUNK; k++)
			histogram->chunks[i][k] += other->chunks[i][k];
	if (!histogram->count || other->least < histogram->least)
		histogram->least = other->least;
	if (other->greatest > histogram->greatest)
		histogram->greatest = other->greatest;
	histogram->sum += other->sum;
	histogram->count += other->count;
	histogram->squares += other->squares;
	return 0;
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
	unsigned bits = bits_of(histogram->digits);
	uint64_t wanted = (uint64_t)ceil(share * (double)histogram->count), seen = 0, value;

	wanted = wanted ? wanted : 1;
	for (size_t i = 0; i < histogram->chunk_count * HISTOGRAM_CHUNK; i++) {
		if (!histogram->chunks[i / HISTOGRAM_CHUNK]) {
			i += HISTOGRAM_CHUNK - 1;
			continue;
		}
		seen += histogram->chunks[i / HISTOGRAM_CHUNK][i % HISTOGRAM_CHUNK];
		if (seen < wanted)
			continue;
		value = value_of(bits, i);
		if (value < histogram->least)
			return histogram->least;
		return value < histogram->greatest ? value : histogram->greatest;
	}
	return histogram->greatest;
}

double histogram_mean(const struct histogram *histogram)
{
	return histogram->count ? (double)histogram->sum / (double)histogram->count : 0;
}

double histogram_deviation(const struct histogram *histogram)
{
	unsigned __int128 whole = (unsigned __int128)histogram->sum * histogram->sum;
	double count = (double)histogram->count, rest;

	if (!histogram->count || histogram->squares < whole / histogram->count)
		return 0;
	rest = (double)(uint64_t)(whole % histogram->count) / count;
	return sqrt(((double)(histogram->squares - whole / histogram->count) - rest) / count);
}
