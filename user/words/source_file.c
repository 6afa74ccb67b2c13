/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The source file in the command line of a compiler, or of what starts one. */
#include "words/source_file.h"

#include <string.h>

#include "format/text.h"

static bool is_one_of(const char *word, size_t size, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(words[i]) == size && !memcmp(word, words[i], size))
			return true;
	return false;
}

static bool is_source(const char *word, size_t size)
{
	static const char *const endings[] = {"c",   "cc", "cpp", "cxx", "C",	 "m",	 "s",
					      "S",   "i",  "ii",  "f",	 "f90",	 "d",	 "rs",
					      "go",  "hs", "ml",  "cu",	 "java", "kt",	 "scala",
					      "zig", "ts", "tsx", "tex", "adb",	 "swift"};
	const char *dot = memrchr(word, '.', size);

	return dot && dot > word && word[0] != '-' &&
	       is_one_of(dot + 1, (size_t)(word + size - dot - 1), endings,
			 sizeof(endings) / sizeof(endings[0]));
}

/* An option whose argument is not what is compiled. */
static bool takes_other_file(const char *word, size_t size)
{
	static const char *const options[] = {"-o",	  "-MF",	   "-MT",      "-MQ",
					      "-MD",	  "-MMD",	   "-include", "-dumpbase",
					      "-dumpdir", "-dumpbase-ext", "-auxbase", "-imacros"};

	return is_one_of(word, size, options, sizeof(options) / sizeof(options[0]));
}

bool clew_print_source_file(FILE *out, const char *lead, const struct clew_trace_task *task)
{
	const char *found = NULL, *word, *slash;
	size_t size, found_size = 0;
	bool other = false;
	char name[256];

	for (word = task ? task->command_line : ""; *word; word += size) {
		word += strspn(word, " ");
		size = strcspn(word, " ");
		if (!other && is_source(word, size)) {
			found = word;
			found_size = size;
		}
		other = takes_other_file(word, size);
	}
	if (!found)
		return false;
	slash = memrchr(found, '/', found_size);
	if (slash) {
		found_size -= (size_t)(slash + 1 - found);
		found = slash + 1;
	}
	snprintf(name, sizeof(name), "%.*s", (int)found_size, found);
	fputs(lead, out);
	clew_print_safe(out, name);
	fputc(')', out);
	return true;
}
