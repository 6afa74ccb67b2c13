/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several threads analyse one trace at once, each with a finder of its own: all say
 * what a single one says, and under ThreadSanitizer nothing is found.
 */
#include <clew/blame.h>
#include <clew/path.h>
#include <clew/slack.h>
#include <pthread.h>
#include <stdlib.h>

#include "random_model.h"

enum { THREADS = 4, ROUNDS = 60 };

static uint64_t mix(uint64_t digest, uint64_t value)
{
	return (digest ^ value) * 0x9e3779b97f4a7c15u + (digest >> 29);
}

/* A digest of all that the analyses say; 0: one of them failed. */
static uint64_t digest_of(const struct clew_model *model)
{
	struct clew_path_finder *finder;
	struct clew_blame_pair *pairs;
	struct clew_slack slack;
	uint64_t digest = 1;
	size_t count;

	if (clew_path_finder_new(model, &finder) < 0)
		return 0;
	for (uint32_t span = 0; span < model->span_count; span++) {
		const struct clew_span *s = &model->spans[span];
		const struct clew_position from = {s->elementary.first, s->start};
		const struct clew_position to = {s->elementary.first + s->elementary.count - 1,
						 s->end};

		for (unsigned strategy = 0; strategy < CLEW_STRATEGY_COUNT; strategy++) {
			const struct clew_path_options options = {.strategy = strategy, .top = 5};
			struct clew_paths paths;
			int r = clew_path_find(finder, &from, &to, &options, &paths);

			digest = mix(digest, (uint64_t)r);
			if (r < 0)
				continue;
			for (size_t i = 0; i < paths.count; i++)
				for (uint32_t j = 0; j < paths.paths[i].count; j++)
					digest = mix(digest, paths.paths[i].es[j]);
			clew_paths_done(&paths);
		}
	}
	clew_path_finder_free(finder);
	if (clew_slack_find(model, NULL, NULL, &slack) < 0)
		return 0;
	for (uint32_t i = 0; i < slack.count; i++)
		digest = mix(mix(digest, (uint64_t)slack.rows[i].drag),
			     (uint64_t)slack.rows[i].latest_finish);
	clew_slack_done(&slack);
	for (unsigned all_running = 0; all_running < 2; all_running++) {
		if (clew_blame_find(model, &(struct clew_blame_options){.all_running = all_running},
				    &pairs, &count) < 0)
			return 0;
		for (size_t i = 0; i < count; i++)
			digest = mix(mix(digest, (uint64_t)pairs[i].ns),
				     (uint64_t)pairs[i].victim << 32 | pairs[i].antagonist);
		free(pairs);
	}
	return digest ?: 1;
}

struct job {
	const struct clew_model *model;
	uint64_t digest;
};

static void *run(void *context)
{
	struct job *job = context;

	job->digest = digest_of(job->model);
	return NULL;
}

static void test_threads(void **state)
{
	static const struct random_shape shape = {
		.spans = 7, .es = 6, .gaps = true, .backwards = true, .several = true};
	static struct random_model m;

	(void)state;
	m.seed = 24;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct job jobs[THREADS];
		pthread_t threads[THREADS];
		uint64_t alone;

		random_model(&m, &shape);
		alone = digest_of(&m.model);
		assert_true(alone != 0);
		for (unsigned i = 0; i < THREADS; i++) {
			jobs[i] = (struct job){.model = &m.model};
			assert_int_equal(pthread_create(&threads[i], NULL, run, &jobs[i]), 0);
		}
		for (unsigned i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			assert_true(jobs[i].digest == alone);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
