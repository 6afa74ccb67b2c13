/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An example of a program with libclew: what each thread of a capture spent its time on.
 *
 * gcc -o threads threads.c $(pkg-config --cflags --libs clew)
 */
#include <clew/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const struct clew_capture *capture, const struct clew_report_thread *thread)
{
	char *task = clew_capture_task_words(capture, thread->task, clew_capture_end(capture));

	fputs(task ? task : "?", stdout);
	for (unsigned spent = 0; spent < CLEW_SPENT_COUNT; spent++)
		if (thread->spent_ns[spent])
			printf(" %s=%llu", clew_spent_name(spent),
			       (unsigned long long)thread->spent_ns[spent]);
	putchar('\n');
	free(task);
}

int main(int argc, char **argv)
{
	struct clew_report_thread *threads = NULL;
	struct clew_capture *capture;
	char message[300];
	size_t count = 0;
	int r;

	if (argc != 2) {
		fputs("usage: threads CAPTURE\n", stderr);
		return 2;
	}
	r = clew_capture_open(argv[1], NULL, &capture, message, sizeof(message));
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], message[0] ? message : strerror(-r));
		return 2;
	}
	r = clew_report_threads(capture, 0, 0, &threads, &count);
	for (size_t i = 0; r == 0 && i < count; i++)
		print(capture, &threads[i]);
	free(threads);
	clew_capture_close(capture);
	return r < 0;
}
