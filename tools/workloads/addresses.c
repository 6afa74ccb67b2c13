/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that wait for locks in all kinds of memory, and the truth: a line for each lock, with
 * its name, its offset in the variable, its address, and the memory that it is in.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TURNS 12

struct table {
	long rows[5];
	pthread_mutex_t lock;
};

static pthread_mutex_t in_data = {.__data.__kind = PTHREAD_MUTEX_ADAPTIVE_NP};
static pthread_mutex_t in_bss;
pthread_mutex_t far_in_bss[70000]; /* behind the last page that the file has */
struct table in_structure = {.rows = {1}};
static _Thread_local pthread_mutex_t in_thread;

static void *wait_for(void *lock)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(lock);
		usleep(2000);
		pthread_mutex_unlock(lock);
		usleep(100);
	}
	return NULL;
}

static void tell(const char *memory, const char *name, const void *variable, const void *lock)
{
	printf("%s %s %zu %zu\n", memory, name, (size_t)((uintptr_t)lock - (uintptr_t)variable),
	       (size_t)(uintptr_t)lock);
}

int main(void)
{
	pthread_mutex_t *on_heap = calloc(1, sizeof(*on_heap)), on_stack = {0};
	pthread_mutex_t *mapped =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_t *locks[] = {
		&in_data,  &in_bss, &far_in_bss[69999], &in_structure.lock, on_heap,
		&on_stack, mapped,  &in_thread};
	pthread_t threads[2 * sizeof(locks) / sizeof(locks[0])];
	size_t count = sizeof(threads) / sizeof(threads[0]);

	printf("pid %d\n", getpid());
	tell("variable", "in_data", &in_data, locks[0]);
	tell("variable", "in_bss", &in_bss, locks[1]);
	tell("variable", "far_in_bss", far_in_bss, locks[2]);
	tell("variable", "in_structure", &in_structure, locks[3]);
	tell("heap", "-", on_heap, on_heap);
	tell("unnamed", "-", &on_stack, &on_stack);
	tell("unnamed", "-", mapped, mapped);
	tell("thread", "-", &in_thread, &in_thread);
	fflush(stdout);
	for (size_t i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, wait_for, locks[i / 2]);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
