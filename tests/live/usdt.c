/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Meets probes of <sys/sdt.h> with arguments of each kind, and says on standard output what it gave
 * to each: a line of JSON each. Where a probe has a counter of listeners, it is met only if
 * somebody listens; the last line has what the counters are at the end.
 *
 *     usdt SEED [wait]     then it waits for the end of its input before the last line
 */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_INLINED   __attribute__((noinline, noclone))
#define COUNTER(name) volatile unsigned short name __attribute__((section(".probes")))

/* Each instruction of a probe that is recorded adds one. */
COUNTER(ours_sizes_semaphore);
COUNTER(ours_text_semaphore);
COUNTER(ours_many_semaphore);
COUNTER(ours_places_semaphore);
COUNTER(ours_fraction_semaphore);
COUNTER(ours_nothing_semaphore);
COUNTER(ours_variables_semaphore);

static volatile int zero;

/* The compiler names these in the notes, and nothing else reads them there. */
static int64_t variable;
static struct {
	int64_t before;
	uint32_t member;
} inner;
int16_t global_variable;

NOT_INLINED static void sizes(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint64_t f)
{
	if (!ours_sizes_semaphore)
		return;
	DTRACE_PROBE6(ours, sizes, a, b, c, d, e, f);
	printf("{\"name\": \"ours:sizes\", \"args\": [%d, %u, %d, %u, %d, %" PRIu64 "]}\n", a, b, c,
	       d, e, f);
}

NOT_INLINED static void text(const char *words, int number)
{
	if (!ours_text_semaphore)
		return;
	DTRACE_PROBE2(ours, text, words, number);
	if (words == (const char *)8)
		printf("{\"name\": \"ours:text\", \"args\": [null, %d]}\n", number);
	else
		printf("{\"name\": \"ours:text\", \"args\": [\"%s\", %d]}\n", words, number);
}

NOT_INLINED static void many(const int64_t *values)
{
	if (!ours_many_semaphore)
		return;
	DTRACE_PROBE8(ours, many, values[0], values[1], values[2], values[3], values[4], values[5],
		      values[6], values[7]);
	printf("{\"name\": \"ours:many\", \"args\": [");
	for (int i = 0; i < 8; i++)
		printf("%s%" PRId64, i ? ", " : "", values[i]);
	printf("]}\n");
}

/* One probe at instructions where its argument is in different places. */
NOT_INLINED static void places(int number)
{
	volatile int on_stack = number;

	if (!ours_places_semaphore)
		return;
	switch (number & 3) {
	case 0:
		DTRACE_PROBE1(ours, places, -7);
		number = -7;
		break;
	case 1:
		DTRACE_PROBE1(ours, places, on_stack);
		break;
	case 2:
		DTRACE_PROBE1(ours, places, 3000000000u);
		printf("{\"name\": \"ours:places\", \"args\": [3000000000]}\n");
		return;
	default:
		DTRACE_PROBE1(ours, places, number);
	}
	printf("{\"name\": \"ours:places\", \"args\": [%d]}\n", number);
}

NOT_INLINED static void fraction(double value, int number)
{
	if (!ours_fraction_semaphore)
		return;
	DTRACE_PROBE2(ours, fraction, value, number);
	printf("{\"name\": \"ours:fraction\", \"args\": [%d]}\n", number);
}

NOT_INLINED static void nothing(void)
{
	if (!ours_nothing_semaphore)
		return;
	DTRACE_PROBE(ours, nothing);
	printf("{\"name\": \"ours:nothing\", \"args\": []}\n");
}

NOT_INLINED static void variables(void)
{
	if (!ours_variables_semaphore)
		return;
	DTRACE_PROBE3(ours, variables, variable, inner.member, global_variable);
	printf("{\"name\": \"ours:variables\", \"args\": [%" PRId64 ", %u, %d]}\n", variable,
	       inner.member, global_variable);
}

/* A function around probes, for those who record both. */
NOT_INLINED void around(unsigned seed);
void around(unsigned seed)
{
	static const char *const words[] = {"", "orders", "SELECT 1", (const char *)8};
	int64_t values[8];

	for (int i = 0; i < 8; i++)
		values[i] = ((int64_t)random() << 33) - ((int64_t)random() << 20) + i;
	sizes((int8_t)random(), (uint8_t)random(), (int16_t)random(), (uint16_t)random(),
	      (int32_t)(random() << 1), (uint64_t)values[0]);
	text(words[(unsigned)random() % 4], (int)seed);
	many(values);
	places((int)random());
	fraction(1.5, (int)random());
	nothing();
	variable = -values[1];
	inner.member = (uint32_t)values[2];
	global_variable = (int16_t)values[3];
	variables();
	zero++;
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;

	srandom(seed);
	for (unsigned i = 0; i < 200; i++)
		around(seed + i);
	fflush(stdout);
	if (argc > 2)
		while (getchar() != EOF)
			;
	printf("{\"counters\": [%u, %u, %u, %u, %u, %u, %u]}\n", ours_sizes_semaphore,
	       ours_text_semaphore, ours_many_semaphore, ours_places_semaphore,
	       ours_fraction_semaphore, ours_nothing_semaphore, ours_variables_semaphore);
	return 0;
}
