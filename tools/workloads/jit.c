/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code that the program writes into memory, with a list of it for perf, as JIT compilers do. The
 * list is written when the program ends, and then it is deleted.
 *
 * Usage: jit MS
 *
 * For MS of CPU time two pieces of code compute, 60 and 40 parts of 100 in turns, each called by a
 * third piece. Then it sleeps, called by a piece with a frame pointer and by one without. Then
 * one place has two pieces in turn. At last a piece of four instructions is called over and over.
 * Prints a JSON object: the shares by the thread's CPU clock, and the addresses of the pieces by
 * name.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KEEP	 __attribute__((noinline, noclone, used))
#define ROUNDS	 20000
#define SLEEP_NS 30000000

typedef void (*piece)(uint64_t rounds, void (*callee)(uint64_t));

struct list {
	FILE *file;
	uint8_t *code;
	size_t size; /* of what is there */
	char told[1024];
};

/* push rbp; mov rbp, rsp; 1: dec rdi; jnz 1b; pop rbp; ret */
static const uint8_t loop[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
/* push rbp; mov rbp, rsp; pop rbp; ret: a sample is nearly always at its begin or its end */
static const uint8_t brief[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3};
/* push rbp; mov rbp, rsp; push rbx; mov rbx, rdi; 1: call rsi; dec rbx; jnz 1b; pop rbx; pop rbp;
 * ret */
static const uint8_t repeat[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x89, 0xfb, 0xff,
				 0xd6, 0x48, 0xff, 0xcb, 0x75, 0xf9, 0x5b, 0x5d, 0xc3};
/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
static const uint8_t caller[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
/* push rbp; xor ebp, ebp; call rsi; pop rbp; ret */
static const uint8_t bare[] = {0x55, 0x31, 0xed, 0xff, 0xd6, 0x5d, 0xc3};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint8_t *place(struct list *list, uint8_t *at, const char *name, const uint8_t *bytes,
		      size_t size)
{
	size_t used = strlen(list->told);

	memcpy(at, bytes, size);
	fprintf(list->file, "%lx %zx %s\n", (unsigned long)at, size, name);
	snprintf(list->told + used, sizeof(list->told) - used, "%s\"%s\": %lu", used ? ", " : "",
		 name, (unsigned long)at);
	return at;
}

static uint8_t *add(struct list *list, const char *name, const uint8_t *bytes, size_t size)
{
	uint8_t *at = list->code + list->size;

	list->size += (size + 63) / 64 * 64;
	return place(list, at, name, bytes, size);
}

/* Runs a loop for so long. */
KEEP static double burn(const uint8_t *by, const uint8_t *called, double seconds)
{
	double start = now(), end;

	do {
		((piece)(uintptr_t)by)(ROUNDS, (void (*)(uint64_t))(uintptr_t)called);
		end = now();
	} while (end - start < seconds);
	return end - start;
}

KEEP static void rest(uint64_t unused)
{
	struct timespec time = {.tv_nsec = SLEEP_NS};

	(void)unused;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	__asm__ volatile("" ::: "memory");
}

KEEP static void rest_bare(uint64_t unused)
{
	rest(unused);
	__asm__ volatile("" ::: "memory");
}

int main(int count, char **arguments)
{
	struct list list = {};
	const uint8_t *alpha, *beta, *outer, *uncalled;
	double spent[2] = {}, seconds;
	uint8_t *twice;
	char path[64];

	if (count != 2) {
		fprintf(stderr, "usage: jit MS\n");
		return 2;
	}
	seconds = atof(arguments[1]) / 1e3;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	list.file = fopen(path, "w");
	list.code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!list.file || list.code == MAP_FAILED)
		return 1;
	outer = add(&list, "JS:outer call.js:1", caller, sizeof(caller));
	alpha = add(&list, "JS:alpha", loop, sizeof(loop));
	beta = add(&list, "JS:beta", loop, sizeof(loop));
	uncalled = add(&list, "JS:bare", bare, sizeof(bare));
	while (spent[0] + spent[1] < seconds) {
		spent[0] += burn(outer, alpha, 0.0006);
		spent[1] += burn(outer, beta, 0.0004);
	}
	((piece)(uintptr_t)outer)(0, rest);
	((piece)(uintptr_t)uncalled)(0, rest_bare);
	twice = add(&list, "JS:first", loop, sizeof(loop));
	burn(outer, twice, 0.2);
	burn(outer, place(&list, twice, "JS:second", loop, sizeof(loop)), 0.2);
	burn(add(&list, "JS:repeat", repeat, sizeof(repeat)),
	     add(&list, "JS:brief", brief, sizeof(brief)), 0.5);
	usleep(300000);
	fclose(list.file);
	unlink(path);
	printf("{\"tid\": %d, \"alpha\": %.6f, \"beta\": %.6f, \"places\": {%s}}\n", getpid(),
	       spent[0] / (spent[0] + spent[1]), spent[1] / (spent[0] + spent[1]), list.told);
	return 0;
}
