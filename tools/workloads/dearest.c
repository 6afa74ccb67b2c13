/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls functions at known rates, and counts each call itself.
 *
 * Usage: dearest SECONDS
 *
 * A thread calls first() as often as it can, for a third of the time, then second(), then third().
 * THREADS others call steady() some thousand times a second, and seldom() below it each tenth time.
 * Prints a JSON object: the calls of each function, and by time, ns of CLOCK_MONOTONIC, how often
 * each of the first three had been called.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEEP	__attribute__((noinline, noclone, used))
#define THREADS 3
#define PAUSE	1000000	 /* ns between two calls of steady() */
#define STEP	20000000 /* ns between two notes */
#define NOTES	10000
#define BURST	64 /* calls between two looks at the clock */
#define HOT	3

struct note {
	uint64_t time, calls[HOT];
};

static struct note notes[NOTES];
static unsigned note_count;
static uint64_t counts[HOT];
static atomic_ullong steadies, seldoms;
static atomic_bool over;
static volatile uint64_t sum;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The statements behind calls keep them from being tail calls. */
KEEP static void first(void)
{
	sum++;
}

KEEP static void second(void)
{
	sum += 2;
}

KEEP static void third(void)
{
	sum += 3;
}

KEEP static void seldom(void)
{
	sum++;
}

KEEP static void steady(uint64_t number)
{
	if (number % 10 == 0) {
		seldom();
		atomic_fetch_add(&seldoms, 1);
	}
	sum++;
}

static void *call_steadily(void *unused)
{
	const struct timespec pause = {.tv_nsec = PAUSE};

	for (uint64_t i = 0; !over; i++) {
		steady(i);
		atomic_fetch_add(&steadies, 1);
		nanosleep(&pause, NULL);
	}
	return unused;
}

static void take_note(uint64_t time)
{
	struct note *note = &notes[note_count++];

	note->time = time;
	for (int i = 0; i < HOT; i++)
		note->calls[i] = counts[i];
}

static void call_hot(uint64_t length)
{
	static void (*const hot[])(void) = {first, second, third};
	uint64_t start = now(), next = 0, at;

	while ((at = now()) < start + length) {
		unsigned which = (unsigned)((at - start) * HOT / length);

		if (at >= next && note_count < NOTES) {
			take_note(at);
			next = at + STEP;
		}
		for (int i = 0; i < BURST; i++, counts[which]++)
			hot[which]();
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, call_steadily, NULL);
	call_hot((uint64_t)(argc > 1 ? atoi(argv[1]) : 6) * 1000000000);
	over = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"first\":%llu,\"second\":%llu,\"third\":%llu,\"steady\":%llu,"
	       "\"seldom\":%llu,\"notes\":[",
	       (unsigned long long)counts[0], (unsigned long long)counts[1],
	       (unsigned long long)counts[2], (unsigned long long)steadies,
	       (unsigned long long)seldoms);
	for (unsigned i = 0; i < note_count; i++)
		printf("%s[%llu,%llu,%llu,%llu]", i ? "," : "", (unsigned long long)notes[i].time,
		       (unsigned long long)notes[i].calls[0], (unsigned long long)notes[i].calls[1],
		       (unsigned long long)notes[i].calls[2]);
	puts("]}");
	return 0;
}
