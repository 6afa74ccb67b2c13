/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the program that the kernel refuses, and the reason: libbpf's messages have both, with the
 * verifier's log.
 */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/stream/refusals.h"

/* libbpf's print function takes no context. */
static struct clew_refusal verdict;

/* Makes a line, without spaces around it, what the kernel says of the program. */
static void set_reason(const char *line, size_t length)
{
	while (length && isspace((unsigned char)*line)) {
		line++;
		length--;
	}
	while (length && (isspace((unsigned char)line[length - 1]) || line[length - 1] == ':'))
		length--;
	snprintf(verdict.reason, sizeof(verdict.reason), "%s: %.*s", verdict.row->name, (int)length,
		 line);
}

/* "<byte_off> [7] struct mutex.owner.counter (0:0:0 @ offset 0)": mutex.owner.counter */
static bool take_field(const char *relocation)
{
	const char *name = strchr(relocation, ']'), *end;
	static const char *const kinds[] = {"struct ", "union ", "enum ", "typedef "};
	char field[128];

	if (!name)
		return false;
	name++;
	while (*name == ' ')
		name++;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			name += strlen(kinds[i]);
	end = name + strcspn(name, " \n");
	if (end == name)
		return false;
	snprintf(field, sizeof(field), "%.*s", (int)(end - name), name);
	snprintf(verdict.reason, sizeof(verdict.reason), CLEW_FIELD_MISSING, field);
	return true;
}

/* The verifier's words behind its last ones on the program. */
static bool is_statistics(const char *line)
{
	static const char *const begins[] = {"processed ", "verification time", "stack depth",
					     "libbpf: ", "-- END"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(line, begins[i], strlen(begins[i])))
			return true;
	return *line == '\n' || !*line;
}

/* The missing field, else the verifier's last line; if that is about an instruction that libbpf
 * made invalid in a function that the program calls, the line of the source. Since 7.3 or so the
 * verifier explains itself at length after that line. */
static void take_log(const char *log)
{
	const char relocation[] = "failed to resolve CO-RE relocation ", poison[] = "195896080";
	const char explained[] = "Verification failed: ";
	const char *field = strstr(log, relocation), *last = NULL, *source = NULL, *next;

	if (field && take_field(field + sizeof(relocation) - 1))
		return;
	for (const char *line = log; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (last && !strncmp(line, explained, sizeof(explained) - 1))
			break;
		if (line[0] == ';' && line[1] == ' ')
			source = line + 2;
		else if (!is_statistics(line))
			last = line;
	}
	if (last && source && strstr(last, poison)) {
		snprintf(verdict.reason, sizeof(verdict.reason),
			 "%s: a field is not where clew looks: %.*s", verdict.row->name,
			 (int)strcspn(source, "\n"), source);
		return;
	}
	if (last)
		set_reason(last, strcspn(last, "\n"));
}

static int note(enum libbpf_print_level level, const char *format, va_list arguments)
{
	const char log[] = "-- BEGIN PROG LOAD LOG --\n";
	const struct clew_program_row *row;
	char *text = NULL, name[64];
	const char *begin;
	int said;

	if (level != LIBBPF_WARN || vasprintf(&text, format, arguments) < 0)
		return 0;
	if (sscanf(text, "libbpf: prog '%63[^']': %n", name, &said) == 1) {
		row = clew_program_row(name);
		begin = strstr(text, log);
		if (row && row == verdict.row && begin) {
			take_log(begin + sizeof(log) - 1);
		} else if (row && !verdict.row && strstr(text + said, "failed")) {
			verdict.row = row;
			set_reason(text + said, strcspn(text + said, "\n"));
		}
	}
	free(text);
	return 0;
}

void clew_verdict_begin(void)
{
	verdict = (struct clew_refusal){};
	libbpf_set_print(note);
}

bool clew_verdict_end(struct clew_refusal *ret_refusal)
{
	libbpf_set_print(NULL);
	*ret_refusal = verdict;
	return verdict.row != NULL;
}

/* True if the program is among the names in a variable of the environment. */
static bool is_named(const struct bpf_program *program, const char *variable)
{
	const char *names = getenv(variable), *name = bpf_program__name(program);

	for (size_t length; names && *names; names += length + (names[length] == ',')) {
		length = strcspn(names, ",");
		if (strlen(name) == length && !strncmp(name, names, length))
			return true;
	}
	return false;
}

void clew_refuse_load_for_test(struct bpf_object *object)
{
	const struct bpf_insn invalid = {.code = 0xff};
	struct bpf_program *program;
	struct bpf_insn *instructions;

	bpf_object__for_each_program (program, object) {
		/* libbpf loads the instructions from where it keeps them. */
		instructions = (struct bpf_insn *)bpf_program__insns(program);
		if (instructions && is_named(program, "CLEW_TEST_REFUSE"))
			instructions[0] = invalid;
	}
}

void clew_refuse_attach_for_test(struct bpf_object *object)
{
	struct bpf_program *program;
	int other;

	bpf_object__for_each_program (program, object) {
		if (bpf_program__fd(program) < 0 || !is_named(program, "CLEW_TEST_REFUSE_ATTACH"))
			continue;
		other = open("/dev/null", O_RDONLY | O_CLOEXEC);
		dup3(other, bpf_program__fd(program), O_CLOEXEC);
		close(other);
	}
}
