/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks for the functions by which a stack is unwound or left: in the symbols that a
 * file has or needs, then in its instructions. The C library itself unwinds and switches only where
 * somebody else asks it to, by names that are known. Nobody knows which code a program loads
 * later, so a program that can load code does not pass.
 */
#include "symbol/code/closure.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"
#include "opener/opener.h"
#include "symbol/code/function.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/library.h"

#define LIBRARIES_MOST 256
#define TABLE_MOST     (256u << 20)
#define PATH_MOST      4096
#define FILE_MOST      (64 << 20)     /* bytes of a file whose instructions are looked at */
#define ALL_MOST       (256ull << 20) /* the same, of all files that are remembered */

/* The result of reading a file's instructions. */
struct looked_at {
	uint64_t device, inode, changed, size; /* as struct clew_opened has them */
	bool passes;
	char why[CLEW_CLOSURE_WHY];
};

struct clew_closure {
	struct vector files; /* struct looked_at */
	uint64_t bytes;	     /* of them */
};

int clew_closure_new(struct clew_closure **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->files.item = sizeof(struct looked_at);
	return 0;
}

void clew_closure_free(struct clew_closure *closure)
{
	if (closure)
		vector_done(&closure->files);
	free(closure);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The C library's own files, and what it loads to cancel a thread. */
static bool is_c_library(const char *path)
{
	static const char *const names[] = {"libc.so.", "ld-linux", "libm.so.", "libgcc_s.so."};
	const char *name = last_name(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool is_harmful(const char *name)
{
	static const char *const names[] = {
		"__cxa_throw",
		"__gxx_personality_v0",
		"rust_eh_personality",
		"swapcontext",
		"makecontext",
		"setcontext",
		"getcontext",
		"backtrace",
		"jump_fcontext",
		"dlopen",
		"dlmopen",
		"dlsym",
		"dlvsym",
		"mcount",
		"_mcount",
		"__fentry__",
	};

	if (!strncmp(name, "_Unwind_", strlen("_Unwind_")))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(name, names[i], length) &&
		    (name[length] == '\0' || name[length] == '@'))
			return true;
	}
	return false;
}

static int read_section(const struct elf_file *file, const Elf64_Shdr *section, void *ret_bytes)
{
	if (section->sh_type == SHT_NOBITS || section->sh_size > TABLE_MOST)
		return -EFBIG;
	return elf_file_read(file, section->sh_offset, section->sh_size, ret_bytes);
}

/* A table's symbols, and the strings of their names. To free. */
static int read_table(const struct elf_file *file, const Elf64_Shdr *section, void *ret_entries,
		      char **ret_texts, size_t *ret_size)
{
	const Elf64_Shdr *link;
	int r;

	if (section->sh_link >= file->header.e_shnum)
		return -EBADMSG;
	link = &file->sections[section->sh_link];
	r = read_section(file, link, ret_texts);
	if (r < 0)
		return r;
	*ret_size = link->sh_size;
	r = read_section(file, section, ret_entries);
	if (r < 0)
		free(*ret_texts);
	return r;
}

static int check_symbols(const struct elf_file *file, const Elf64_Shdr *section, const char *path,
			 char *ret_why)
{
	Elf64_Sym *symbols;
	char *texts;
	size_t size;
	int r = read_table(file, section, &symbols, &texts, &size);

	if (r < 0)
		return r;
	r = 1;
	for (size_t i = 0; r > 0 && i < section->sh_size / sizeof(*symbols); i++) {
		const char *name = symbols[i].st_name < size ? texts + symbols[i].st_name : "";

		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_SECTION || !is_harmful(name))
			continue;
		snprintf(ret_why, CLEW_CLOSURE_WHY, "%.80s has %.*s", last_name(path),
			 (int)strcspn(name, "@"), name);
		r = 0;
	}
	free(symbols);
	free(texts);
	return r;
}

static bool has_segment(const struct elf_file *file, uint32_t type)
{
	for (unsigned i = 0; i < file->header.e_phnum; i++)
		if (file->programs[i].p_type == type)
			return true;
	return false;
}

static int check_file(const struct elf_file *file, const char *path, char *ret_why)
{
	bool symbols = false;
	int r = 1;

	if (elf_file_section(file, ".go.buildinfo") || elf_file_section(file, ".gopclntab")) {
		snprintf(ret_why, CLEW_CLOSURE_WHY, "%.80s is written in Go", last_name(path));
		return 0;
	}
	if (elf_file_section(file, ".gcc_except_table")) {
		snprintf(ret_why, CLEW_CLOSURE_WHY, "%.80s handles exceptions", last_name(path));
		return 0;
	}
	for (unsigned i = 0; r > 0 && i < file->header.e_shnum; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)
			continue;
		symbols |= section->sh_type == SHT_SYMTAB;
		r = check_symbols(file, section, path, ret_why);
	}
	if (r > 0 && !symbols && !has_segment(file, PT_DYNAMIC)) {
		snprintf(ret_why, CLEW_CLOSURE_WHY, "%.80s is static and has no symbols",
			 last_name(path));
		return 0;
	}
	return r;
}

static bool is_same_file(const struct looked_at *known, const struct clew_opened *opened)
{
	return known->device == opened->device && known->inode == opened->inode &&
	       known->changed == opened->changed && known->size == opened->size;
}

static void judge_stack(struct looked_at *file, const struct clew_functions *functions,
			const char *name)
{
	struct clew_functions_stack stack;

	clew_functions_stack(functions, &stack);
	file->passes = !stack.use && !stack.unclear;
	if (stack.use && stack.name)
		snprintf(file->why, sizeof(file->why), "%.60s has %.40s: %s", name, stack.name,
			 stack.use);
	else if (stack.use)
		snprintf(file->why, sizeof(file->why), "%.60s has a function at 0x%jx: %s", name,
			 (uintmax_t)stack.address, stack.use);
	else if (stack.unclear)
		snprintf(file->why, sizeof(file->why),
			 "%.60s has code of which it is not clear what it does with the stack",
			 name);
}

/* Looks at all instructions of a file. */
static int look_at_stack(struct clew_closure *closure, int descriptor, const char *path,
			 struct looked_at *file)
{
	struct clew_functions *functions;
	struct clew_message message;
	struct stat status;
	int r;

	if (fstat(descriptor, &status) < 0)
		return -errno;
	if (status.st_size > FILE_MOST || closure->bytes + (uint64_t)status.st_size > ALL_MOST) {
		snprintf(file->why, sizeof(file->why), "%.80s is too large to be disassembled",
			 last_name(path));
		return 0;
	}
	closure->bytes += (uint64_t)status.st_size;
	r = clew_functions_open(descriptor, path, NULL, &functions, &message);
	if (r < 0)
		return r;
	judge_stack(file, functions, last_name(path));
	clew_functions_close(functions);
	return 0;
}

/* The entry of a file, NULL: nothing yet. */
static const struct looked_at *find_known(const struct clew_closure *closure,
					  const struct clew_opened *opened)
{
	const struct looked_at *known = closure->files.data;

	for (size_t i = 0; i < closure->files.count; i++)
		if (is_same_file(&known[i], opened))
			return &known[i];
	return NULL;
}

static int remember(struct clew_closure *closure, const struct clew_opened *opened,
		    struct looked_at *file)
{
	int r = vector_reserve(&closure->files, closure->files.count + 1);

	if (r < 0)
		return r;
	file->device = opened->device;
	file->inode = opened->inode;
	file->changed = opened->changed;
	file->size = opened->size;
	((struct looked_at *)closure->files.data)[closure->files.count++] = *file;
	return 0;
}

/*
 * 1: no instruction of a file does something with the stack that its return addresses must not be
 * replaced for; 0: some do. `descriptor`: a copy of the file. `opened`: the file itself, of which
 * the answer is remembered; NULL: it is not.
 */
static int check_stack(struct clew_closure *closure, int descriptor, const char *path,
		       const struct clew_opened *opened, char *ret_why)
{
	const struct looked_at *known = opened ? find_known(closure, opened) : NULL;
	struct looked_at file = {.passes = false};
	int r = 0;

	if (is_c_library(path))
		return 1;
	if (known)
		file = *known;
	else
		r = look_at_stack(closure, descriptor, path, &file);
	if (r >= 0 && opened && !known)
		r = remember(closure, opened, &file);
	if (r < 0)
		return r;
	memcpy(ret_why, file.why, sizeof(file.why));
	return file.passes;
}

int clew_closure_file(struct clew_closure *closure, int descriptor, const char *path,
		      char ret_why[CLEW_CLOSURE_WHY])
{
	struct elf_file file;
	int r;

	*ret_why = '\0';
	if (is_c_library(path))
		return 1;
	r = elf_file_open(descriptor, &file);
	if (r < 0)
		return r;
	r = check_file(&file, path, ret_why);
	elf_file_close(&file);
	return r > 0 ? check_stack(closure, descriptor, path, NULL, ret_why) : r;
}

/* Names of libraries that are or were to be looked at. */
struct queue {
	char *names[LIBRARIES_MOST];
	size_t count;
};

static int add_library(struct queue *queue, const char *name)
{
	for (size_t i = 0; i < queue->count; i++)
		if (!strcmp(queue->names[i], name))
			return 0;
	if (queue->count == LIBRARIES_MOST)
		return -EFBIG;
	queue->names[queue->count] = strdup(name);
	return queue->names[queue->count++] ? 0 : -ENOMEM;
}

/* Follows the files that it needs; 1, or 0: it finds its libraries at places of its own. */
static int add_needed(struct queue *queue, const struct elf_file *file, const char *path,
		      char *ret_why)
{
	const Elf64_Shdr *section = elf_file_section(file, ".dynamic");
	Elf64_Dyn *entries;
	char *texts;
	size_t size;
	int r;

	if (!section)
		return 1;
	r = read_table(file, section, &entries, &texts, &size);
	if (r < 0)
		return r;
	r = 1;
	for (size_t i = 0; r > 0 && i < section->sh_size / sizeof(*entries); i++) {
		if (entries[i].d_tag == DT_RPATH || entries[i].d_tag == DT_RUNPATH) {
			snprintf(ret_why, CLEW_CLOSURE_WHY,
				 "%.80s has libraries at a place of its own", last_name(path));
			r = 0;
		}
		if (entries[i].d_tag == DT_NEEDED && entries[i].d_un.d_val < size &&
		    add_library(queue, texts + entries[i].d_un.d_val) < 0)
			r = -ENOMEM;
	}
	free(entries);
	free(texts);
	return r;
}

static int look_at(struct queue *queue, int descriptor, const char *path, char *ret_why)
{
	struct elf_file file;
	int r = elf_file_open(descriptor, &file);

	if (r < 0)
		return r;
	r = is_c_library(path) ? 1 : check_file(&file, path, ret_why);
	if (r > 0)
		r = add_needed(queue, &file, path, ret_why);
	elf_file_close(&file);
	return r;
}

/* `closure`: NULL: its names are looked at, and what it needs; else its instructions. */
static int look_at_library(struct queue *queue, const char *name, struct clew_closure *closure,
			   char *ret_why)
{
	char path[PATH_MOST];
	struct clew_opened file;
	int copy, r = clew_library_find(name, path, sizeof(path));

	if (r >= 0)
		r = clew_open_named(path, &file, NULL);
	if (r < 0) {
		snprintf(ret_why, CLEW_CLOSURE_WHY, "%.80s is not found", name);
		return 0;
	}
	r = clew_open_read(&file, CLEW_OPEN_LOADED, &copy);
	if (r >= 0) {
		r = closure ? check_stack(closure, copy, path, &file, ret_why)
			    : look_at(queue, copy, path, ret_why);
		close(copy);
	}
	clew_opened_close(&file);
	return r;
}

/* Names come first: they take less time than instructions. */
static int look_at_all(struct clew_closure *closure, int descriptor, const char *path,
		       char *ret_why)
{
	struct queue queue = {0};
	int r = look_at(&queue, descriptor, path, ret_why);

	for (size_t i = 0; r > 0 && i < queue.count; i++)
		r = look_at_library(&queue, queue.names[i], NULL, ret_why);
	if (r > 0)
		r = check_stack(closure, descriptor, path, NULL, ret_why);
	for (size_t i = 0; r > 0 && i < queue.count; i++)
		r = look_at_library(&queue, queue.names[i], closure, ret_why);
	for (size_t i = 0; i < queue.count; i++)
		free(queue.names[i]);
	return r;
}

int clew_closure_program(struct clew_closure *closure, int descriptor, const char *path,
			 char ret_why[CLEW_CLOSURE_WHY])
{
	struct elf_file file;
	bool program;
	int r = elf_file_open(descriptor, &file);

	*ret_why = '\0';
	if (r < 0)
		return r;
	program = file.header.e_type == ET_EXEC || has_segment(&file, PT_INTERP);
	elf_file_close(&file);
	/* libc.so.6 can be run, too. */
	if (!program || is_c_library(path)) {
		snprintf(ret_why, CLEW_CLOSURE_WHY, "who calls a library is not known");
		return 0;
	}
	return look_at_all(closure, descriptor, path, ret_why);
}
