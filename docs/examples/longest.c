/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An example of a program with libclew: the longest waits of a capture, what they were for, and who
 * ended them.
 *
 * gcc -o longest longest.c $(pkg-config --cflags --libs clew)
 */
#include <clew/tokens.h>
#include <clew/waits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 10

struct entry {
	size_t index;
	uint64_t ns;
};

static int longest_first(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return left->index < right->index ? -1 : 1;
}

/* The waits that `clew waits` lists, longest first; to be freed. NULL: no memory. */
static struct entry *list(const struct clew_capture *capture, size_t *ret_count)
{
	size_t count = clew_waits_count(capture), kept = 0;
	struct entry *entries = calloc(count + 1, sizeof(*entries));
	struct clew_waits_wait wait;

	for (size_t i = 0; entries && i < count; i++) {
		if (clew_waits_at(capture, i, &wait) < 0 || wait.idle)
			continue;
		if (wait.end == UINT64_MAX)
			wait.end = clew_capture_end(capture);
		entries[kept++] = (struct entry){i, wait.end - wait.start};
	}
	if (entries)
		qsort(entries, kept, sizeof(*entries), longest_first);
	*ret_count = kept;
	return entries;
}

static void print(const struct clew_capture *capture, const struct entry *entry)
{
	struct clew_waits_wait wait;
	char *task, *by = NULL, *object;

	if (clew_waits_at(capture, entry->index, &wait) < 0)
		return;
	task = clew_capture_task_words(capture, wait.task, wait.start);
	object = clew_waits_object(capture, entry->index);
	if (wait.ended_by)
		by = clew_capture_task_words(capture, wait.ended_by, wait.end);
	printf("%llu ns  %s: %s %s", (unsigned long long)entry->ns, task ? task : "?",
	       clew_wait_kind_name(wait.kind), object ? object : "");
	if (by)
		printf(", ended by %s (%s)", by, clew_evidence_name(wait.evidence));
	putchar('\n');
	free(task);
	free(object);
	free(by);
}

int main(int argc, char **argv)
{
	struct clew_capture *capture;
	struct entry *entries;
	char message[300];
	size_t count;
	int r;

	if (argc != 2) {
		fputs("usage: longest CAPTURE\n", stderr);
		return 2;
	}
	r = clew_capture_open(argv[1], NULL, &capture, message, sizeof(message));
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], message[0] ? message : strerror(-r));
		return 2;
	}
	entries = list(capture, &count);
	for (size_t i = 0; entries && i < count && i < MOST; i++)
		print(capture, &entries[i]);
	free(entries);
	clew_capture_close(capture);
	return !entries;
}
