/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions of the kernel.
 *
 * Static functions share names, so they are told apart by their addresses. A link with one
 * address that may not be traced is refused as a whole, so only those count that the kernel lists.
 * A kernel that takes single probes alone lists names without addresses: there only names count
 * that one function has.
 */
#include "record/functions/traced_kernel.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/nearest.h"
#include "record/functions/probe.h"
#include "record/functions/traced_site.h"
#include "record/stream/recorder_state.h"
#include "symbol/elf/kernel.h"

#define LIST	  "/sys/kernel/tracing/available_filter_functions_addrs"
#define NAMES	  "/sys/kernel/tracing/available_filter_functions"
#define REFUSED	  "/sys/kernel/debug/kprobes/blacklist"
#define TRIED	  "sys_getppid" /* behind a prefix: it has several names */
#define CALL_MOST 16		/* bytes before the call */
#define ROUNDS	  5
#define CALLS	  2000 /* a round: the fastest round counts */
#define USUALLY	  150  /* ns, where it cannot be measured */

/* A line of the list. */
struct entry {
	uint64_t address;
	char name[256];
	char module[64]; /* "kernel", or what it is a module of */
};

struct glob {
	const char *text;
	size_t found;
	unsigned nearest; /* distance of the name that is most alike */
	char name[256];
};

bool traced_kernel_multi(void)
{
	return !access(LIST, R_OK) && clew_probe_kernel_multi();
}

int traced_kernel_possible(struct clew_message *message)
{
	if (traced_kernel_multi())
		return 0;
	if (!clew_probe_kernel_singly())
		return clew_say(message, -ENOTSUP,
				"the kernel takes no probes at its own functions (built without "
				"CONFIG_FPROBE and CONFIG_KPROBES)");
	if (access(NAMES, R_OK))
		return clew_say(message, -ENOTSUP,
				"there is no list of the kernel's functions (%s): mount tracefs",
				NAMES);
	return 0;
}

/* Addresses of functions that take no single probe: [start, end), one after the other. */
static int read_refused(struct vector *ret)
{
	FILE *file = fopen(REFUSED, "re");
	char line[512];
	int r = 0;

	ret->item = 2 * sizeof(uint64_t);
	while (r >= 0 && file && fgets(line, sizeof(line), file)) {
		uint64_t range[2];

		if (sscanf(line, "0x%" SCNx64 "-0x%" SCNx64, &range[0], &range[1]) != 2)
			continue;
		r = vector_reserve(ret, ret->count + 1);
		if (r >= 0)
			memcpy((char *)ret->data + ret->count++ * sizeof(range), range,
			       sizeof(range));
	}
	if (file)
		fclose(file);
	return r;
}

static bool is_refused(const struct vector *refused, uint64_t address)
{
	const uint64_t *ranges = refused->data;

	for (size_t i = 0; i < refused->count; i++)
		if (address >= ranges[2 * i] && address < ranges[2 * i + 1])
			return true;
	return false;
}

/*
 * "ffffffff81000004 name [module]"; false: another line. The address is that of the call that
 * tracing replaces, and a cookie is found by that where the function begins.
 */
static bool take_line(const struct clew_kernel_symbols *symbols, const char *line,
		      struct entry *entry)
{
	uint64_t start;
	char module[64] = "";
	int fields =
		sscanf(line, "%" SCNx64 " %255s [%63[^]]", &entry->address, entry->name, module);

	if (fields < 2 || !entry->address || strstr(entry->name, "__ftrace_invalid"))
		return false;
	strcpy(entry->module, fields > 2 ? module : "kernel");
	start = symbols ? clew_kernel_symbol_start(symbols, entry->address) : 0;
	if (start && entry->address - start <= CALL_MOST)
		entry->address = start;
	return true;
}

/* "name [module]"; false: another line, or a name that several functions have. */
static bool take_name(const struct clew_kernel_symbols *symbols, const char *line,
		      struct entry *entry)
{
	char module[64] = "";
	int fields = sscanf(line, "%255s [%63[^]]", entry->name, module);

	if (fields < 1 || !symbols || strstr(entry->name, "__ftrace_invalid"))
		return false;
	strcpy(entry->module, fields > 1 ? module : "kernel");
	return !clew_kernel_symbol_only(symbols, entry->name, &entry->address);
}

/* ---- what it costs ---- */

/* ns of a call, the fastest round's. */
static double time_calls(void)
{
	double best = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct timespec from, to;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
		      (double)(to.tv_nsec - from.tv_nsec)) /
		     CALLS;
		best = !round || ns < best ? ns : best;
	}
	return best;
}

/* The cost of an entry or a return: half of both together for a call of `address`. */
static uint32_t measure(bool multi, uint64_t address)
{
	int program = clew_probe_load_empty_kernel(multi), links[2] = {-1, -1};
	double plain = time_calls(), probed = plain;

	for (int i = 0; program >= 0 && i < 2; i++)
		links[i] = clew_probe_link_kernel(program, multi, address, i);
	if (links[0] >= 0 && links[1] >= 0)
		probed = time_calls();
	for (int i = 0; i < 2; i++)
		if (links[i] >= 0)
			close(links[i]);
	if (program >= 0)
		close(program);
	return probed > plain ? (uint32_t)((probed - plain) / 2) : USUALLY;
}

/* ---- functions ---- */

static int add_function(struct traced *traced, struct traced_file *kernel,
			const struct entry *entry)
{
	struct clew_function_symbol symbol = {.name = entry->name, .offset = entry->address};
	char path[80];
	struct traced_owner owner = {.symbol = &symbol, .path = path, .way = CLEW_SITE_WAY_KERNEL};
	const struct clew_function_site site = {.roles = CLEW_SITE_ENTER,
						.otherwise = CLEW_FUNCTION_NO_SITE};
	struct clew_probe_place place = {.offset = entry->address};
	struct traced_function *function;
	uint32_t number;
	int r;

	snprintf(path, sizeof(path), "[%s]", entry->module);
	if (map_get(&kernel->starts, entry->address, 0))
		return 0;
	if (traced->functions >= traced->functions_most) {
		traced->over++;
		return 0;
	}
	traced->known.item = sizeof(*function);
	r = vector_reserve(&traced->known, traced->known.count + 1);
	if (r >= 0)
		r = traced_site_new(traced, &site, &number);
	if (r < 0)
		return r;
	owner.number = (uint32_t)traced->known.count;
	function = traced_function_at(traced, traced->known.count);
	*function = (struct traced_function){.file = kernel, .name = strdup(entry->name)};
	if (!function->name)
		return -ENOMEM;
	traced->known.count++;
	traced->functions++;
	r = map_set(&kernel->starts, entry->address, 0, owner.number);
	traced_site_share(traced, &owner, &site, CLEW_SITE_CLASS_KERNEL, number);
	traced_share_of(traced, number)->ns = 2 * traced->cost.kernel;
	if (r >= 0)
		r = traced_site_put(traced, &owner, number, place.offset, CLEW_SITE_CLASS_KERNEL,
				    0);
	if (r >= 0)
		r = traced_site_fill(traced, number);
	place.cookie = number;
	if (r >= 0)
		r = traced_site_place(&kernel->entries.planned, &place);
	place.cookie |= CLEW_FUNCTION_RETURNS;
	return r < 0 ? r : traced_site_place(&kernel->returns.planned, &place);
}

/* True if a glob fits. The nearest name of one that does not is kept. */
static bool fits(struct glob *globs, size_t count, const char *name)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		unsigned distance;

		if (!fnmatch(globs[i].text, name, 0)) {
			globs[i].found++;
			any = true;
		} else if (!globs[i].found) {
			distance = word_distance(globs[i].text, name);
			if (distance < globs[i].nearest) {
				globs[i].nearest = distance;
				strcpy(globs[i].name, name);
			}
		}
	}
	return any;
}

static bool matches(const struct glob *globs, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(globs[i].text, name, 0))
			return true;
	return false;
}

/* The list of functions, as this kernel has it. */
struct list {
	FILE *file;
	bool multi;
	struct vector refused;
};

/* The next function that a glob fits; false: there is none. */
static bool next_entry(const struct traced *traced, struct list *list, struct glob *globs,
		       size_t count, struct entry *ret)
{
	const struct clew_kernel_symbols *symbols = traced->recorder->symbols;
	char line[512];

	while (fgets(line, sizeof(line), list->file)) {
		if (list->multi) {
			if (take_line(symbols, line, ret) && fits(globs, count, ret->name))
				return true;
			continue;
		}
		if (sscanf(line, "%255s", ret->name) != 1)
			continue;
		/* To find an address takes longer than to compare a name. */
		if (matches(globs, count, ret->name) &&
		    (!take_name(symbols, line, ret) || is_refused(&list->refused, ret->address)))
			continue;
		if (fits(globs, count, ret->name))
			return true;
	}
	return false;
}

static int add_all(struct traced *traced, struct traced_file *kernel, struct list *list,
		   struct glob *globs, size_t count)
{
	struct entry entry;
	int r = 0;

	while (r >= 0 && next_entry(traced, list, globs, count, &entry))
		r = add_function(traced, kernel, &entry);
	return r;
}

static void find_cost(struct traced *traced, struct list *list)
{
	struct glob tried = {.text = "*" TRIED};
	struct entry entry;

	traced->cost.kernel = USUALLY;
	if (next_entry(traced, list, &tried, 1, &entry))
		traced->cost.kernel = measure(list->multi, entry.address);
	rewind(list->file);
}

static int check(const struct glob *globs, size_t count, struct clew_message *message)
{
	for (size_t i = 0; i < count; i++)
		if (!globs[i].found)
			return clew_say(
				message, -EINVAL,
				"-k %s: the kernel has no function of that name that can be "
				"probed; perhaps %s",
				globs[i].text, globs[i].name);
	return 0;
}

int traced_kernel_add(struct traced *traced, struct traced_file *kernel, const char *const *globs,
		      size_t count, void (*say)(const char *line), struct clew_message *message)
{
	struct glob *all = calloc(count, sizeof(*all));
	struct list list = {.multi = traced_kernel_multi()};
	uint32_t before = traced->functions;
	char words[128];
	int r;

	list.file = all ? fopen(list.multi ? LIST : NAMES, "re") : NULL;
	if (!list.file) {
		r = -errno;
		free(all);
		return r;
	}
	r = list.multi ? 0 : read_refused(&list.refused);
	for (size_t i = 0; i < count; i++)
		all[i] = (struct glob){.text = globs[i], .nearest = WORD_DISTANCE_MOST + 1};
	find_cost(traced, &list);
	if (r >= 0)
		r = add_all(traced, kernel, &list, all, count);
	fclose(list.file);
	vector_done(&list.refused);
	if (r >= 0)
		r = check(all, count, message);
	free(all);
	if (r >= 0 && say) {
		snprintf(words, sizeof(words),
			 "%" PRIu32 " function%s of the kernel: a call takes %" PRIu32 " ns longer",
			 traced->functions - before, traced->functions - before == 1 ? "" : "s",
			 2 * traced->cost.kernel);
		say(words);
	}
	return r;
}
