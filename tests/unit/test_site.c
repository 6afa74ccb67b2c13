/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests which instructions may be probed, and which addresses are functions' entries: this
 * program's own, with symbols and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/code/entry.h"
#include "symbol/code/site.h"
#include "symbol/elf/eh_frame.h"

#ifdef __x86_64__

#define CODE(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void test_kinds(void **state)
{
	static const struct {
		const char *word;
		uint8_t code[CLEW_SITE_BYTES];
		size_t size;
	} cases[] = {
		{"safe", CODE(0x90)},
		{"safe", CODE(0x66, 0x90)},
		{"safe", CODE(0xf3, 0x90)},	  /* pause */
		{"safe", CODE(0x0f, 0x1f, 0x00)}, /* nops of 3, 4, 6, 7, 8 and 9 bytes */
		{"safe", CODE(0x0f, 0x1f, 0x40, 0x00)},
		{"safe", CODE(0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00)},
		{"safe", CODE(0x0f, 0x1f, 0x80, 0, 0, 0, 0)},
		{"safe", CODE(0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0)},
		{"safe", CODE(0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0)},
		{"safe", CODE(0x55)},					     /* push %rbp */
		{"safe", CODE(0x41, 0x54)},				     /* push %r12 */
		{"safe", CODE(0xf3, 0x0f, 0x1e, 0xfa)},			     /* endbr64 */
		{"safe", CODE(0x48, 0x89, 0xe5)},			     /* mov %rsp,%rbp */
		{"safe", CODE(0x48, 0x83, 0xec, 0x08)},			     /* sub $8,%rsp */
		{"safe", CODE(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0)}, /* mov %fs:0x28,%rax */
		{"safe", CODE(0x0f, 0x84, 1, 0, 0, 0)},			     /* je */
		{"safe", CODE(0xe8, 0, 0, 0, 0)},			     /* call */
		{"safe", CODE(0xe9, 1, 0, 0, 0)},			     /* jmp */
		{"safe", CODE(0xff, 0x25, 0, 0, 0, 0)},			     /* jmp *(%rip) */
		{"safe", CODE(0x0f, 0x28, 0xc1)},			     /* movaps */
		{"safe", CODE(0x48, 0x8d, 0x64, 0x24, 0x08)},		     /* lea 8(%rsp),%rsp */
		{"nop5", CODE(0x0f, 0x1f, 0x44, 0x00, 0x00)},
		{"nop5", CODE(0x66, 0x0f, 0x1f, 0x40, 0x00)},
		{"nop5", CODE(0x66, 0x66, 0x66, 0x66, 0x90)},
		{"nop5", CODE(0xe9, 0, 0, 0, 0)},		   /* jmp to what comes next */
		{"nop5", CODE(0x48, 0x8d, 0x64, 0x24, 0x00)},	   /* lea 0(%rsp),%rsp */
		{"vex", CODE(0xc5, 0xf8, 0x77)},		   /* vzeroupper */
		{"vex", CODE(0xc5, 0xfe, 0x7f, 0x07)},		   /* vmovdqu %ymm0,(%rdi) */
		{"vex", CODE(0xc4, 0xe1, 0xf9, 0x6e, 0xc0)},	   /* vmovq %rax,%xmm0 */
		{"vex", CODE(0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc0)}, /* vmovaps %zmm0,%zmm0 */
		{"vex", CODE(0x8f, 0xe8, 0x78, 0xc0, 0xc0, 0x01)}, /* vprotb */
		{"prefix", CODE(0xf0, 0x48, 0x01, 0x07)},	   /* lock add */
		{"prefix", CODE(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0)},
		{"prefix", CODE(0x3e, 0xff, 0xe0)}, /* notrack jmp *%rax */
		{"prefix", CODE(0x49, 0x90)},	    /* xchg %r8,%rax */
		{"prefix", CODE(0x66, 0xe9, 1, 0)},
		{"prefix", CODE(0x66, 0xf3, 0x48, 0x89, 0xc0)}, /* mov %rax,%rax in 5 bytes */
		{"syscall", CODE(0x0f, 0x05)},
		{"syscall", CODE(0xcd, 0x80)},
		{"int3", CODE(0xcc)},
		{"unknown", CODE(0xf4)},		   /* hlt */
		{"unknown", CODE(0xc7, 0xf8, 0, 0, 0, 0)}, /* xbegin */
		{"unknown", CODE(0x0f, 0x1f)},		   /* cut off */
		{"unknown", CODE(0x0f)},
		{"unknown", CODE(0x66)},
		{"unknown", CODE(0x06)},
		{"unknown", {0}, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *word = clew_site_word(clew_site_kind(cases[i].code, cases[i].size));

		if (strcmp(word, cases[i].word))
			fail_msg("case %zu (%02x %02x ..) is %s instead of %s", i, cases[i].code[0],
				 cases[i].code[1], word, cases[i].word);
	}
}

#else

static void test_kinds(void **state)
{
	const uint8_t code[4] = {0};

	(void)state;
	assert_int_equal(clew_site_kind(code, sizeof(code)), CLEW_SITE_SAFE);
}

#endif

#ifdef __x86_64__

/*
 * Functions to ask about: one with a symbol, one with a label in it that claims to be a
 * function, a part of one, and two that have nothing but an unwind entry, of which one is jumped
 * to.
 */
extern const char entry_plain[], entry_label[], entry_part[], entry_frame[], entry_jumped_to[],
	entry_inside[];
__asm__(".pushsection .text\n"
	".globl entry_plain, entry_label, entry_part, entry_frame, entry_jumped_to, entry_inside\n"
	".hidden entry_plain, entry_label, entry_part, entry_frame, entry_jumped_to, entry_inside\n"
	".type entry_plain, @function\n"
	"entry_plain: .cfi_startproc\n"
	"nop\n"
	"entry_inside: nop\n"
	".type entry_label, @function\n"
	"entry_label: je entry_jumped_to\n"
	"ret\n"
	".cfi_endproc\n"
	".size entry_plain, . - entry_plain\n"
	".section .text.unlikely, \"ax\"\n"
	".type entry_plain.cold, @function\n"
	"entry_part:\n"
	"entry_plain.cold: .cfi_startproc\n"
	"nop\n"
	".cfi_endproc\n"
	".size entry_plain.cold, . - entry_plain.cold\n"
	"entry_jumped_to: .cfi_startproc\n"
	"nop\n"
	".cfi_endproc\n"
	"entry_frame: .cfi_startproc\n"
	"ret\n"
	".cfi_endproc\n"
	".popsection\n");

static uint64_t linked_at(const void *code)
{
	struct link_map *map = _r_debug.r_map;

	return (uintptr_t)code - map->l_addr;
}

static bool has(struct clew_entries *entries, const void *code)
{
	return clew_entries_has(entries, linked_at(code));
}

/* A copy of the program, without its symbols or with them. */
static int copy_program(bool symbols)
{
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    copy = memfd_create("copy", MFD_CLOEXEC);
	off_t size = lseek(own, 0, SEEK_END);
	char *bytes = malloc((size_t)size);
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *sections;

	assert_int_equal(pread(own, bytes, (size_t)size, 0), size);
	sections = (Elf64_Shdr *)(bytes + header->e_shoff);
	for (unsigned i = 0; !symbols && i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM)
			sections[i].sh_type = SHT_NULL;
	assert_int_equal(pwrite(copy, bytes, (size_t)size, 0), size);
	free(bytes);
	close(own);
	return copy;
}

static void test_entries(void **state)
{
	struct clew_entries *entries;
	int file = copy_program(true);

	(void)state;
	assert_int_equal(clew_entries_open(file, &entries), 0);
	assert_true(has(entries, entry_plain));
	assert_true(has(entries, (const void *)(uintptr_t)test_kinds));
	assert_false(has(entries, entry_inside));
	assert_false(has(entries, entry_label));
	assert_false(has(entries, entry_part));
	assert_false(has(entries, entry_jumped_to));
	assert_true(has(entries, entry_frame));
	assert_false(clew_entries_has(entries, 0));
	assert_false(clew_entries_has(entries, UINT64_MAX));
	clew_entries_close(entries);
	close(file);
}

static void test_stripped(void **state)
{
	struct clew_entries *entries;
	int file = copy_program(false);

	(void)state;
	assert_int_equal(clew_entries_open(file, &entries), 0);
	assert_true(has(entries, entry_plain));
	assert_true(has(entries, entry_frame));
	assert_false(has(entries, entry_inside));
	assert_false(has(entries, entry_label));
	assert_false(has(entries, entry_jumped_to));
	clew_entries_close(entries);
	close(file);
}

static int count_range(void *context, uint64_t start, uint64_t size)
{
	uint64_t *found = context;

	found[0]++;
	found[1] = start;
	found[2] = size;
	return 0;
}

/* Tables that no compiler writes: an entry's kind that is not known, one without an end, lengths
 * that lead out of the section. */
static void test_frames(void **state)
{
	static const uint8_t fde[] = {16, 0, 0,	   0, 24, 0, 0, 0, 0x10, 0,
				      0,  0, 0x20, 0, 0,  0, 0, 0, 0,	 0};
	static const uint8_t cie[] = {16,  0, 0, 0,    0,  0, 0,    0, 1, 'z',
				      'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0};
	uint8_t section[256] = {0};
	uint64_t found[3] = {0};

	(void)state;
	memcpy(section, cie, sizeof(cie));
	memcpy(section + sizeof(cie), fde, sizeof(fde));
	assert_int_equal(eh_frame_walk(section, sizeof(section), 0x1000, count_range, found), 0);
	assert_int_equal(found[0], 1);
	assert_int_equal(found[1], 0x1000 + sizeof(cie) + 8 + 0x10);
	assert_int_equal(found[2], 0x20);
	for (size_t size = 0; size < sizeof(cie) + sizeof(fde); size++) {
		found[0] = 0;
		assert_int_equal(eh_frame_walk(section, size, 0x1000, count_range, found), 0);
		assert_int_equal(found[0], 0);
	}
	memset(section, 'z', sizeof(section));
	memcpy(section, (uint8_t[]){100, 0, 0, 0, 0, 0, 0, 0, 1}, 9);
	memcpy(section + 104, fde, sizeof(fde));
	section[108] = 108;
	assert_int_equal(eh_frame_walk(section, 104 + sizeof(fde), 0x1000, count_range, found), 0);
	section[60] = 0;
	assert_int_equal(eh_frame_walk(section, 104 + sizeof(fde), 0x1000, count_range, found), 0);
	assert_int_equal(found[0], 0);
}

/* Changed anywhere, in headers, symbols and unwind tables: no access out of bounds, and no endless
 * loop. */
static void test_damaged(void **state)
{
	int copy = copy_program(true);
	off_t size = lseek(copy, 0, SEEK_END);
	struct clew_entries *entries;
	Elf64_Ehdr header;

	(void)state;
	assert_int_equal(pread(copy, &header, sizeof(header), 0), sizeof(header));
	srand(1);
	for (int i = 0; i < 2000; i++) {
		off_t at = i % 4 == 0	? rand() % 64
			   : i % 4 == 1 ? (off_t)header.e_shoff + rand() % (64 * header.e_shnum)
					: rand() % size;
		uint8_t byte = (uint8_t)rand(), before;

		assert_int_equal(pread(copy, &before, 1, at), 1);
		assert_int_equal(pwrite(copy, &byte, 1, at), 1);
		if (!clew_entries_open(copy, &entries)) {
			has(entries, entry_frame);
			clew_entries_close(entries);
		}
		assert_int_equal(pwrite(copy, &before, 1, at), 1);
	}
	close(copy);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
#ifdef __x86_64__
		cmocka_unit_test(test_entries), cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_frames),	cmocka_unit_test(test_damaged),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
