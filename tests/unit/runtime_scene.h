/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Synthetic moments of a runtime with spans of several kinds, and the spans that they make. */
#ifndef CLEW_TESTS_RUNTIME_SCENE_H
#define CLEW_TESTS_RUNTIME_SCENE_H

#include "synthetic.h"

#include "relate/job.h"

static const char description[] = "runtime r\n"
				  "object x x\n"
				  "span s\n"
				  "submit enter x:put key=arg0 name=str(arg1)\n"
				  "start enter x:run key=arg0\n"
				  "suspend enter x:sleep key=arg0\n"
				  "resume enter x:wake key=arg0\n"
				  "ready enter x:yield key=arg0\n"
				  "end enter x:end\n"
				  "cancel enter x:drop key=arg0\n"
				  "wait enter x:join key=arg0\n"
				  "wake enter x:done key=arg0\n"
				  "span c coalesce\n"
				  "submit enter x:send key=arg0\n"
				  "start enter x:got key=arg0\n"
				  "end enter x:over\n"
				  "span w\n"
				  "submit leave x:make key=ret queue=entry.arg0\n"
				  "submit enter x:alloc behind x:make2 key=arg0 queue=outer.arg0\n"
				  "span p\n"
				  "wait enter x:park key=arg0\n"
				  "wake enter x:unpark key=arg0\n"
				  "waited enter x:parked key=arg0\n"
				  "span m repeat\n"
				  "wait enter x:want key=arg0\n"
				  "wake enter x:leave key=arg0\n"
				  "waited enter x:have key=arg0\n"
				  "span t\n"
				  "start enter x:step key=arg0\n"
				  "suspend enter x:stop key=arg0\n"
				  "span g\n"
				  "submit enter x:add key=arg0 group=arg0&240\n"
				  "start enter x:take key=arg0\n"
				  "end enter x:taken key=arg0\n"
				  "wait enter x:all key=arg0\n";

/* As the points are numbered: by their first line. */
enum {
	PUT,
	RUN,
	SLEEP,
	WAKE,
	YIELD,
	END,
	DROP,
	JOIN,
	DONE,
	SEND,
	GOT,
	OVER,
	MAKE_LEAVE,
	MAKE,
	ALLOC,
	MAKE2,
	PARK,
	UNPARK,
	PARKED,
	WANT,
	LEAVE,
	HAVE,
	STEP,
	STOP,
	ADD,
	TAKE,
	TAKEN,
	ALL
};

struct scene {
	struct synthetic s;
	struct clew_trace *trace;
	struct clew_layers *layers;
	struct clew_jobs *jobs;
};

static void met_at(struct scene *scene, uint64_t at, uint32_t task, unsigned point, uint64_t key,
		   uint64_t stack)
{
	struct {
		struct clew_moment moment;
		uint64_t key;
		char name[8];
	} record = {.moment = {.header = {.time = at, .kind = CLEW_KIND_MOMENT},
			       .stack = stack,
			       .task = task,
			       .point = (uint16_t)point,
			       .size = sizeof(uint64_t)},
		    .key = key};

	if (point == END || point == OVER)
		record.moment.size = 0;
	if (point == PUT) {
		memcpy(record.name, "job", 4);
		record.moment.size += 4;
	}
	synthetic_put(&scene->s, &record, sizeof(record.moment) + record.moment.size);
}

static UNUSED void met(struct scene *scene, uint64_t at, uint32_t task, unsigned point,
		       uint64_t key)
{
	met_at(scene, at, task, point, key, 0x1000);
}

static UNUSED void begin(struct scene *scene)
{
	char message[300];

	*scene = (struct scene){};
	threads(&scene->s, 4);
	identify(&scene->s, (struct identity){.task = 5, .process = 5});
	assert_int_equal(clew_layers_read(description, strlen(description), "t", &scene->layers,
					  message, sizeof(message)),
			 0);
}

static UNUSED void join(struct scene *scene, size_t count)
{
	scene->trace = synthetic_trace(&scene->s, 1000000, 0);
	assert_int_equal(clew_jobs_new(scene->trace, scene->layers, &scene->jobs), 0);
	assert_int_equal(scene->jobs->list.count, count);
}

static UNUSED void done(struct scene *scene)
{
	clew_jobs_free(scene->jobs);
	clew_layers_free(scene->layers);
	clew_trace_free(scene->trace);
	synthetic_done(&scene->s);
}

#endif
