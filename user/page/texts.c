/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words about waits that the timeline shows. */
#include "page/texts.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trace/wait_key.h"
#include "words/object.h"
#include "words/task.h"

static int add(struct texts *texts, char *text, uint16_t *ret_number)
{
	if (!text || vector_reserve(&texts->texts, texts->texts.count + 1) < 0) {
		free(text);
		return -ENOMEM;
	}
	*ret_number = (uint16_t)texts->texts.count;
	((char **)texts->texts.data)[texts->texts.count++] = text;
	return 0;
}

int texts_begin(struct texts *texts)
{
	uint16_t number;

	*texts = (struct texts){.texts.item = sizeof(char *)};
	return add(texts, strdup(""), &number);
}

void texts_done(struct texts *texts)
{
	for (size_t i = 0; i < texts->texts.count; i++)
		free(((char **)texts->texts.data)[i]);
	vector_done(&texts->texts);
	map_done(&texts->of_wait);
	map_done(&texts->of_kind);
}

const char *texts_at(const struct texts *texts, size_t number)
{
	return ((char **)texts->texts.data)[number];
}

/* The task that held what was waited for at first; CLEW_NO_TASK: unknown. */
static uint32_t first_holder(const struct clew_sleep *sleep)
{
	return sleep->holder_count && !sleep->holders[0].coming ? sleep->holders[0].task
								: CLEW_NO_TASK;
}

static char *words_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const char *call = clew_call_name(sleep->call);
	uint32_t holder = first_holder(sleep);
	char *text = NULL, *object = NULL;
	size_t size;
	FILE *out = open_memstream(&object, &size);

	if (!out)
		return NULL;
	if (clew_waits_for_object(sleep))
		clew_print_object(out, trace, &sleep->object, sleep);
	if (fclose(out))
		goto done;
	out = open_memstream(&text, &size);
	if (!out)
		goto done;
	fputs(clew_wait_kind_name(sleep->kind), out);
	if (object[0])
		fprintf(out, ": %s", object);
	if (call)
		fprintf(out, " (%s)", call);
	if (holder != CLEW_NO_TASK) {
		fputs(", held by ", out);
		clew_print_task_name(out, trace, holder, sleep->start);
	}
	if (fclose(out)) {
		free(text);
		text = NULL;
	}
done:
	free(object);
	return text;
}

/* The number of the words about a kind alone. */
static int of_kind(struct texts *texts, unsigned kind, uint16_t *ret_number)
{
	const uint64_t *known = map_get(&texts->of_kind, kind, 0);
	int r;

	if (known) {
		*ret_number = (uint16_t)*known;
		return 0;
	}
	r = add(texts, strdup(clew_wait_kind_name(kind)), ret_number);
	return r < 0 ? r : map_set(&texts->of_kind, kind, 0, *ret_number);
}

int texts_of_wait(struct texts *texts, const struct clew_trace *trace,
		  const struct clew_sleep *sleep, uint16_t *ret_number)
{
	struct clew_wait_key object = clew_wait_key(trace, sleep);
	uint64_t key =
		hash_mix(hash_mix(hash_mix(1, object.parts[0]), object.parts[1]), object.parts[2]);
	const uint64_t *known;
	int r;

	key = hash_mix(hash_mix(key, (uint64_t)sleep->call << 8 | sleep->kind),
		       first_holder(sleep));
	known = map_get(&texts->of_wait, key, 0);
	if (known) {
		*ret_number = (uint16_t)*known;
		return 0;
	}
	/* Room for each kind stays. */
	if (texts->texts.count >= TEXTS_MOST - CLEW_WAIT_KIND_COUNT)
		return of_kind(texts, sleep->kind, ret_number);
	r = add(texts, words_of(trace, sleep), ret_number);
	return r < 0 ? r : map_set(&texts->of_wait, key, 0, *ret_number);
}
