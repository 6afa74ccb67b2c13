/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The points of a runtime in one file: hidden names by their ways, places by decoding, offsets by
 * debugging information or the file's version.
 */
#include "record/functions/runtime_file.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/registers.h"
#include "record/functions/probe_judge.h"
#include "symbol/code/derive.h"
#include "symbol/code/probes.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/member.h"
#include "symbol/elf/pointer_table.h"

struct finding {
	const struct clew_runtime *runtime;
	struct clew_functions *functions; /* NULL: not opened yet */
	const struct clew_functions_options *options;
	int descriptor;
	const char *path;
	struct runtime_found *found;
	uint64_t *offsets; /* by the runtime's numbers; UINT64_MAX: not known */
	uint16_t point;	   /* at hand */
	struct probe_judge judge;
};

/* Says why the runtime is not used. Returns -ENOENT. */
static int refuse(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse(struct finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->found->why, sizeof(finding->found->why), format, arguments);
	va_end(arguments);
	return -ENOENT;
}

static bool fits_object(const struct clew_runtime_object *object, const char *path)
{
	const char *last = strrchr(path, '/');

	for (size_t i = 0; i < object->glob_count; i++)
		if (!fnmatch(object->globs[i], path, 0) ||
		    !fnmatch(object->globs[i], last ? last + 1 : path, 0))
			return true;
	return false;
}

bool runtime_wants(const struct clew_runtime *runtime, const char *path)
{
	for (size_t i = 0; i < runtime->object_count; i++)
		if (fits_object(&runtime->objects[i], path))
			return true;
	return false;
}

static const struct clew_runtime_object *object_of(const struct clew_runtime *runtime,
						   const char *alias)
{
	for (size_t i = 0; i < runtime->object_count; i++)
		if (!strcmp(runtime->objects[i].alias, alias))
			return &runtime->objects[i];
	return NULL;
}

static bool has_section(int descriptor, const char *name)
{
	struct elf_file file;
	bool has;

	if (elf_file_open(descriptor, &file) < 0)
		return false;
	has = elf_file_section(&file, name);
	elf_file_close(&file);
	return has;
}

/* True if the file is one of the object: by its path, and by the section that it has to have. */
static bool is_object(const struct finding *finding, const char *alias)
{
	const struct clew_runtime_object *object = object_of(finding->runtime, alias);

	return object && fits_object(object, finding->path) &&
	       (!object->section || has_section(finding->descriptor, object->section));
}

/* ---- offsets ---- */

static uint64_t find_offset(struct finding *finding, const struct clew_runtime_offset *offset)
{
	const char *last = strrchr(finding->path, '/');
	char version[64];
	uint64_t value;
	size_t size;
	const uint8_t *id;

	if (!is_object(finding, offset->object))
		return UINT64_MAX;
	if (offset->version)
		return !fnmatch(offset->version, last ? last + 1 : finding->path, 0) ||
				       (!clew_file_version(finding->descriptor, version,
							   sizeof(version)) &&
					!fnmatch(offset->version, version, 0))
			       ? offset->value
			       : UINT64_MAX;
	id = clew_functions_build_id(finding->functions, &size);
	return clew_member_offset(finding->descriptor, finding->path, id, size, offset->type,
				  offset->member, &value)
		       ? UINT64_MAX
		       : value;
}

/* The first of a name that is known. */
static bool offset_of(const struct finding *finding, const char *name, uint64_t *ret)
{
	for (size_t i = 0; i < finding->runtime->offset_count; i++)
		if (!strcmp(finding->runtime->offsets[i].name, name) &&
		    finding->offsets[i] != UINT64_MAX) {
			*ret = finding->offsets[i];
			return true;
		}
	return false;
}

static void find_offsets(struct finding *finding)
{
	for (size_t i = 0; i < finding->runtime->offset_count; i++)
		finding->offsets[i] = UINT64_MAX;
	for (size_t i = 0; i < finding->runtime->offset_count; i++) {
		uint64_t known;

		if (!offset_of(finding, finding->runtime->offsets[i].name, &known))
			finding->offsets[i] = find_offset(finding, &finding->runtime->offsets[i]);
	}
}

/* False: an offset is not known. */
static bool fill_steps(const struct finding *finding, const struct clew_expression *expression,
		       struct clew_moment_value *value)
{
	for (unsigned i = 0; i < CLEW_MOMENT_STEPS; i++) {
		const struct clew_runtime_step *step = &expression->steps[i];
		uint64_t offset = 0;

		if (step->offset && !offset_of(finding, step->offset, &offset))
			return false;
		value->steps[i] = (struct clew_step){
			.add = step->add + (int32_t)offset,
			.size = step->size,
			.is_signed = step->is_signed,
		};
	}
	return true;
}

/* A key that cannot be read joins nothing: the runtime is of no use without it. */
static int check_keys(struct finding *finding)
{
	for (size_t i = 0; i < finding->runtime->event_count; i++) {
		const struct clew_runtime_event *event = &finding->runtime->events[i];

		for (unsigned k = 0; k < event->key_count; k++) {
			struct clew_moment_value ignored;

			if (event->keys[k].slot != CLEW_RUNTIME_NONE &&
			    !fill_steps(finding, &event->keys[k].expression, &ignored))
				return refuse(finding, "its layout is not known: no version that "
						       "the description has, and no debugging "
						       "information");
		}
	}
	return 0;
}

/* ---- values ---- */

static int register_of(const struct clew_expression *expression)
{
	switch (expression->base) {
	case CLEW_BASE_ARGUMENT:
		return clew_register_of_argument(expression->number);
	case CLEW_BASE_REGISTER:
		return expression->number;
	case CLEW_BASE_RESULT:
		return clew_register_of_result();
	case CLEW_BASE_STACK:
		return clew_register_find("rsp", 3);
	default:
		return -1;
	}
}

static struct clew_operand operand_of(const struct clew_expression *expression,
				      const struct clew_operand *arguments)
{
	int offset = clew_register_offset(register_of(expression));

	if (expression->base == CLEW_BASE_THREAD)
		return (struct clew_operand){.kind = CLEW_OPERAND_THREAD};
	if (expression->base == CLEW_BASE_KEPT)
		return (struct clew_operand){.kind = CLEW_OPERAND_KEPT};
	if (expression->base == CLEW_BASE_NUMBER)
		return (struct clew_operand){.kind = CLEW_OPERAND_CONSTANT,
					     .value = (int64_t)expression->constant};
	if (expression->base == CLEW_BASE_ARGUMENT && arguments)
		return arguments[expression->number];
	return offset < 0 ? (struct clew_operand){.kind = CLEW_OPERAND_NONE}
			  : (struct clew_operand){.kind = CLEW_OPERAND_REGISTER,
						  .base = (uint16_t)offset};
}

/* `arguments`: of a probe that the program carries; NULL: they are in registers. */
static void fill_site(const struct finding *finding, const struct clew_runtime_point *point,
		      const struct clew_operand *arguments, uint32_t below,
		      struct clew_moment_site *ret)
{
	*ret = (struct clew_moment_site){
		.point = point->number, .count = point->value_count, .below = below};
	for (uint32_t i = 0; i < point->value_count; i++) {
		struct clew_moment_value *value = &ret->values[i];

		value->operand = operand_of(&point->values[i], arguments);
		value->text_max = point->values[i].text_max;
		value->keep = point->kept == i + 1;
		if (!fill_steps(finding, &point->values[i], value))
			value->operand.kind = CLEW_OPERAND_NONE;
	}
}

/* Registers that a point's values are in. */
static unsigned registers_of(const struct clew_runtime_point *point)
{
	unsigned registers = 0;

	for (uint32_t i = 0; i < point->value_count; i++) {
		int number = register_of(&point->values[i]);

		if (number >= 0 && point->values[i].base != CLEW_BASE_STACK)
			registers |= 1u << number;
	}
	return registers;
}

static int add_site(struct finding *finding, const struct clew_derive_spot *spot)
{
	const struct clew_runtime_point *point = &finding->runtime->points[finding->point];
	struct vector *sites = &finding->found->sites;
	struct runtime_site *site;

	if (vector_reserve(sites, sites->count + 1) < 0)
		return -ENOMEM;
	site = (struct runtime_site *)sites->data + sites->count++;
	*site = (struct runtime_site){
		.offset = spot->offset, .class = spot->class, .point = finding->point};
	fill_site(finding, point, NULL, spot->below, &site->site);
	for (uint32_t i = 0; spot->moved && i < point->value_count; i++) {
		int number = register_of(&point->values[i]);
		struct clew_moment_value *value = &site->site.values[i];

		if (value->operand.kind != CLEW_OPERAND_REGISTER || number < 0)
			continue;
		value->operand.base = (uint16_t)clew_register_offset(spot->registers[number].from);
		value->steps[0].add += spot->registers[number].add;
	}
	return 0;
}

/* ---- places ---- */

/* Where the steps of a hidden name lead. */
static int take_steps(struct finding *finding, const struct clew_runtime_hidden *hidden,
		      uint64_t *ret_address)
{
	for (unsigned i = 0; i < hidden->step_count; i++) {
		static const enum clew_derive_step steps[] = {
			[CLEW_HIDDEN_CODE] = CLEW_DERIVE_CODE,
			[CLEW_HIDDEN_CALLEE] = CLEW_DERIVE_CALLEE,
			[CLEW_HIDDEN_JUMP] = CLEW_DERIVE_JUMP,
			[CLEW_HIDDEN_CALL] = CLEW_DERIVE_CALL,
		};

		if (clew_derive_step(finding->functions, steps[hidden->steps[i].kind],
				     hidden->steps[i].number, ret_address) < 0)
			return refuse(finding, "%s is not resolved: step %u from %s leads nowhere",
				      hidden->name, i + 1, hidden->symbol);
	}
	return 0;
}

/* The function that a table of the program has beside a text, and where the steps lead from it. */
static int find_in_table(struct finding *finding, const struct clew_runtime_hidden *hidden,
			 uint64_t *ret_address)
{
	int r = clew_pointer_behind(finding->descriptor, hidden->symbol, hidden->words,
				    ret_address);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || !clew_derive_is_function(finding->functions, *ret_address))
		return refuse(finding,
			      "%s is not resolved: no table has one function beside \"%s\"",
			      hidden->name, hidden->symbol);
	return take_steps(finding, hidden, ret_address);
}

/* The function that does nothing but jump to what a register has. */
static int find_thunk(struct finding *finding, const struct clew_runtime_hidden *hidden,
		      uint64_t *ret_address)
{
	int number = clew_register_find(hidden->symbol, strlen(hidden->symbol));
	int r = clew_derive_thunk(finding->functions, (unsigned)number, ret_address);

	return r < 0 ? refuse(finding, "%s is not resolved: %s jumps to %s alone", hidden->name,
			      r == -EMLINK ? "more than one function" : "no function",
			      hidden->symbol)
		     : 0;
}

static int find_function(struct finding *finding, const struct clew_runtime_point *point,
			 uint64_t *ret_address)
{
	const struct clew_runtime_hidden *hidden = NULL;
	int r;

	for (size_t i = 0; point->hidden && i < finding->runtime->hidden_count; i++)
		if (!strcmp(finding->runtime->hidden[i].name, point->symbol))
			hidden = &finding->runtime->hidden[i];
	if (hidden && hidden->table)
		return find_in_table(finding, hidden, ret_address);
	if (hidden && hidden->thunk)
		return find_thunk(finding, hidden, ret_address);
	/* A file that has its symbols knows better. */
	if (hidden && clew_derive_find(finding->functions, hidden->name, ret_address) == 0)
		return 0;
	r = clew_derive_find(finding->functions, hidden ? hidden->symbol : point->symbol,
			     ret_address);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return refuse(finding,
			      r == -EMLINK ? "several functions fit %s" : "it has no function %s",
			      hidden ? hidden->symbol : point->symbol);
	return hidden ? take_steps(finding, hidden, ret_address) : 0;
}

static int say_no_place(struct finding *finding, const char *why)
{
	return refuse(finding, "%s cannot be probed: %s",
		      finding->runtime->points[finding->point].symbol,
		      why ?: "it has no such place");
}

static int find_exits(struct finding *finding, uint64_t address)
{
	const struct clew_runtime_point *point = &finding->runtime->points[finding->point];
	struct clew_derive_spot *exits;
	const char *why = NULL;
	bool result = false;
	size_t count;
	int r = clew_derive_exits(finding->functions, address, &exits, &count, &why);

	if (r == -ENOMEM)
		return r;
	for (uint32_t i = 0; i < point->value_count; i++)
		result |= point->values[i].base == CLEW_BASE_RESULT;
	for (size_t i = 0; r >= 0 && i < count; i++) {
		if (exits[i].exit.kind == CLEW_EXIT_CONDITIONAL ||
		    exits[i].exit.kind == CLEW_EXIT_INDIRECT ||
		    (result && exits[i].exit.kind != CLEW_EXIT_RET)) {
			why = "it is left by a jump";
			r = -ENOTSUP;
		} else {
			r = add_site(finding, &exits[i]);
		}
	}
	free(exits);
	return r == -ENOTSUP || r == -ENOENT ? say_no_place(finding, why) : r;
}

static int find_calls(struct finding *finding, uint64_t address)
{
	const struct clew_runtime_point *point = &finding->runtime->points[finding->point];
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < point->call_count; i++) {
		struct clew_derive_spot spot;
		const char *why = NULL;

		r = clew_derive_call(finding->functions, address, point->calls[i], point->direct,
				     point->kind == CLEW_PLACE_AFTER, registers_of(point), &spot,
				     &why);
		r = r < 0 ? say_no_place(finding, why) : add_site(finding, &spot);
	}
	return r;
}

static int find_callers(struct finding *finding, uint64_t address)
{
	const struct clew_runtime_point *point = &finding->runtime->points[finding->point];
	struct clew_derive_spot *spots;
	const char *why = NULL;
	size_t count;
	int r = clew_derive_callers(finding->functions, address,
				    point->kind == CLEW_PLACE_AFTER_CALLS, registers_of(point),
				    &spots, &count, &why);

	for (size_t i = 0; r >= 0 && i < count; i++)
		r = add_site(finding, &spots[i]);
	free(spots);
	return r == -ENOTSUP || r == -ENOENT ? say_no_place(finding, why) : r;
}

static int find_place(struct finding *finding)
{
	const struct clew_runtime_point *point = &finding->runtime->points[finding->point];
	struct clew_derive_spot spot;
	const char *why = NULL;
	uint64_t address;
	int r = find_function(finding, point, &address);

	if (r < 0)
		return r;
	switch (point->kind) {
	case CLEW_PLACE_LEAVE:
		return find_exits(finding, address);
	case CLEW_PLACE_BEFORE:
	case CLEW_PLACE_AFTER:
		return find_calls(finding, address);
	case CLEW_PLACE_BEFORE_CALLS:
	case CLEW_PLACE_AFTER_CALLS:
		return find_callers(finding, address);
	default:
		r = clew_derive_entry(finding->functions, address, registers_of(point), &spot,
				      &why);
		return r < 0 ? say_no_place(finding, why) : add_site(finding, &spot);
	}
}

static int take_probe(void *context, const struct clew_probe *probe)
{
	struct finding *finding = context;
	const struct clew_runtime_point *point = &finding->runtime->points[finding->point];
	struct clew_operand arguments[CLEW_SITE_ARGUMENTS];
	struct clew_derive_spot spot = {.offset = probe->offset, .class = CLEW_PROBE_EMULATED};
	const char *reason;
	struct runtime_site *site;
	int r;

	if (strcmp(probe->provider, point->object) || strcmp(probe->name, point->symbol))
		return 0;
	reason = probe_judge_reason(&finding->judge, probe);
	if (reason)
		return refuse(finding,
			      "%s cannot be probed: its program would not do the same (%s)",
			      point->symbol, reason);
	r = add_site(finding, &spot);
	if (r < 0)
		return r;
	clew_probe_arguments(probe, arguments, CLEW_SITE_ARGUMENTS);
	site = (struct runtime_site *)finding->found->sites.data + finding->found->sites.count - 1;
	site->semaphore = probe->semaphore;
	fill_site(finding, point, arguments, 0, &site->site);
	return 0;
}

/* Marks what only one of a span's two sets of events needs. */
static void mark(const struct finding *finding, struct runtime_site *site)
{
	const struct clew_runtime *runtime = finding->runtime;
	bool cheap = false, single = false, both = false;

	for (size_t i = 0; i < runtime->event_count; i++) {
		const struct clew_runtime_event *event = &runtime->events[i];
		bool alternative = false;

		if (event->point != site->point && event->outer != site->point)
			continue;
		for (size_t k = 0; k < runtime->event_count; k++)
			alternative |=
				runtime->events[k].cheap && runtime->events[k].span == event->span;
		/* A submit has what no change of state says. */
		cheap |= event->cheap;
		single |= alternative && !event->cheap && event->verb != CLEW_VERB_SUBMIT;
		both |= !alternative || event->verb == CLEW_VERB_SUBMIT;
	}
	site->cheap = cheap && !single && !both;
	site->single = single && !cheap && !both;
}

static int open_functions(struct finding *finding)
{
	struct clew_message message;
	int r = clew_functions_open(finding->descriptor, finding->path, finding->options,
				    &finding->functions, &message);

	if (r == -ENOMEM)
		return r;
	return r < 0 ? refuse(finding, "its functions cannot be read") : 0;
}

/* Probes that a program carries are found without its functions, which takes long in a large one:
 * what it does meanwhile would be missed. */
static bool wants_functions(const struct clew_runtime *runtime)
{
	bool wants = runtime->offset_count;

	for (size_t i = 0; i < runtime->point_count; i++)
		wants |= runtime->points[i].kind <= CLEW_PLACE_AFTER_CALLS;
	return wants;
}

static int find_point(struct finding *finding, size_t number)
{
	const struct clew_runtime_point *point = &finding->runtime->points[number];
	size_t before = finding->found->sites.count;
	int r = 0;

	finding->point = (uint16_t)number;
	if (point->kind == CLEW_PLACE_USDT)
		r = clew_probes_read(finding->descriptor, take_probe, finding);
	else if (point->object && is_object(finding, point->object))
		r = find_place(finding);
	finding->found->points += finding->found->sites.count > before;
	return r;
}

/* True if an event of that span is at a point; CLEW_RUNTIME_NONE: of any that is no lock. */
static bool has_point(const struct clew_runtime *runtime, uint16_t span, size_t point)
{
	for (size_t i = 0; i < runtime->event_count; i++) {
		const struct clew_runtime_event *event = &runtime->events[i];

		if ((event->point == point || event->outer == point) &&
		    (span == CLEW_RUNTIME_NONE ? !runtime->spans[event->span].lock
					       : event->span == span))
			return true;
	}
	return false;
}

/* A program need not have each lock of its runtime: one that it lacks is left out. */
static int find_lock(struct finding *finding, uint16_t span)
{
	const struct clew_runtime *runtime = finding->runtime;
	struct runtime_found *found = finding->found;
	size_t sites = found->sites.count, points = found->points;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < runtime->point_count; i++)
		if (has_point(runtime, span, i) && !has_point(runtime, CLEW_RUNTIME_NONE, i))
			r = find_point(finding, i);
	if (r != -ENOENT)
		return r;
	found->sites.count = sites;
	found->points = points;
	if (points)
		found->why[0] = '\0';
	return 0;
}

static int find_all(struct finding *finding)
{
	const struct clew_runtime *runtime = finding->runtime;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < runtime->point_count; i++)
		if (has_point(runtime, CLEW_RUNTIME_NONE, i))
			r = find_point(finding, i);
	for (uint16_t i = 0; r >= 0 && i < runtime->span_count; i++)
		if (runtime->spans[i].lock)
			r = find_lock(finding, i);
	for (size_t i = 0; r >= 0 && i < finding->found->sites.count; i++)
		mark(finding, (struct runtime_site *)finding->found->sites.data + i);
	return r;
}

int runtime_find(const struct clew_runtime *runtime, int descriptor, const char *path,
		 bool long_nops_stepped, struct runtime_found *ret)
{
	const struct clew_functions_options options = {.size = sizeof(options),
						       .long_nops_stepped = long_nops_stepped,
						       .returns = CLEW_RETURNS_EXITS};
	struct finding finding = {.runtime = runtime,
				  .options = &options,
				  .descriptor = descriptor,
				  .path = path,
				  .found = ret};
	bool any = false;
	int r = 0;

	*ret = (struct runtime_found){.sites.item = sizeof(struct runtime_site)};
	for (size_t i = 0; i < runtime->object_count; i++)
		any |= is_object(&finding, runtime->objects[i].alias);
	if (!any)
		return 0;
	finding.offsets = calloc(runtime->offset_count + 1, sizeof(*finding.offsets));
	r = !finding.offsets ? -ENOMEM : wants_functions(runtime) ? open_functions(&finding) : 0;
	if (r >= 0) {
		find_offsets(&finding);
		r = check_keys(&finding);
	}
	probe_judge_begin(&finding.judge, descriptor);
	r = r < 0 ? r : find_all(&finding);
	probe_judge_end(&finding.judge);
	if (r < 0 || !ret->points)
		ret->sites.count = 0;
	clew_functions_close(finding.functions);
	free(finding.offsets);
	return r == -ENOENT ? 0 : r;
}

void runtime_found_done(struct runtime_found *found)
{
	vector_done(&found->sites);
}
