/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Says what a kernel lacks of what the kernel side reads, and what it would refuse for that:
 * "lacks FIELD" and "refuses PROGRAM FIELD", a line each.
 *
 * Usage: missing_fields OBJECT BTF [STRUCTURE.MEMBER ..]: as if the kernel did not have the members
 *        missing_fields -o FILE BTF STRUCTURE.MEMBER ..: writes the types without them
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/fields/reach.h"

static void *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	char *bytes = NULL;
	size_t count = 0, room = 0;

	do {
		room += 1 << 20;
		bytes = realloc(bytes, room);
		if (!file || !bytes)
			err(2, "%s", path);
		count += fread(bytes + count, 1, room - count, file);
	} while (count == room);
	if (ferror(file))
		err(2, "%s", path);
	fclose(file);
	*ret_size = count;
	return bytes;
}

/* Takes the name of a member from it. */
static void hide(const struct btf *btf, const char *name)
{
	const char *dot = strchr(name, '.');
	bool found = false;

	for (uint32_t id = 1; dot && id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *own = btf__name_by_offset(btf, type->name_off);

		if (!btf_is_composite(type) || strlen(own) != (size_t)(dot - name) ||
		    strncmp(own, name, dot - name) != 0)
			continue;
		for (unsigned i = 0; i < btf_vlen(type); i++)
			if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off),
				    dot + 1)) {
				btf_members(type)[i].name_off = 0;
				found = true;
			}
	}
	if (!found)
		errx(2, "%s: the kernel has no such member", name);
}

static struct btf *read_types(const char *path, char **hidden)
{
	size_t size;
	void *bytes = read_file(path, &size);
	struct btf *btf = btf__new(bytes, size);

	free(bytes);
	if (!btf)
		errx(2, "%s: no BTF", path);
	for (; *hidden; hidden++)
		hide(btf, *hidden);
	return btf;
}

static void write_types(const struct btf *btf, const char *path)
{
	FILE *out = fopen(path, "w");
	uint32_t size;
	const void *bytes = btf__raw_data(btf, &size);

	if (!out || !bytes || fwrite(bytes, 1, size, out) != size || fclose(out))
		err(2, "%s", path);
}

static void print_lacking(const struct fields *fields)
{
	char name[128];

	for (size_t s = 0; s < fields->code->section_count; s++)
		for (size_t i = 0; i < fields->code->sections[s].access_count; i++) {
			const struct bpf_core_relo *access = &fields->code->sections[s].accesses[i];

			if (fields_is_question(access) ||
			    fields_state(fields, access) != FIELD_MISSING)
				continue;
			fields_name(fields, access, name, sizeof(name));
			printf("lacks %s\n", name);
		}
}

static void print_refused(const struct fields *fields, struct bpf_object *object)
{
	struct bpf_program *program;
	struct reach reach;
	char name[128];

	if (reach_open(&reach, fields))
		errx(2, "no memory");
	bpf_object__for_each_program (program, object) {
		int function = code_function_named(fields->code, bpf_program__name(program));
		const struct bpf_core_relo *missing =
			function < 0 ? NULL : reach_refused(&reach, function);

		if (!missing)
			continue;
		fields_name(fields, missing, name, sizeof(name));
		printf("refuses %s %s\n", bpf_program__name(program), name);
	}
	reach_close(&reach);
}

int main(int count, char **words)
{
	struct fields_kernel kernel = {.whole = true};
	struct bpf_object *object;
	struct fields fields;
	struct code code;
	struct btf *btf;
	void *file;
	size_t size;

	if (count < 3)
		errx(2, "usage: missing_fields OBJECT BTF [STRUCTURE.MEMBER ..]");
	if (count > 4 && !strcmp(words[1], "-o")) {
		btf = read_types(words[3], words + 4);
		write_types(btf, words[2]);
		btf__free(btf);
		return 0;
	}
	kernel.kernel = btf = read_types(words[2], words + 3);
	file = read_file(words[1], &size);
	object = bpf_object__open_file(words[1], NULL);
	if (!object || code_open(&code, file, size))
		errx(2, "%s: no BPF object", words[1]);
	if (fields_resolve(&fields, &code, bpf_object__btf(object), &kernel))
		errx(2, "no memory");
	print_lacking(&fields);
	print_refused(&fields, object);
	fields_done(&fields);
	code_close(&code);
	bpf_object__close(object);
	free(file);
	btf__free(btf);
	return 0;
}
