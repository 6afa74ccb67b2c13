/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls functions with arguments of each kind that can be recorded, and says on standard output
 * what each call was given and returned: a line of JSON each.
 *
 *     arguments SEED
 *
 * a_late() and a_never() get texts of a file that was mapped and not touched: what they point to is
 * not there at the entry. One of them reads it.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline, noclone))

struct large {
	long fields[4];
};

NOT_INLINED int a_text(const char *path, int count, uint8_t level);
NOT_INLINED const char *a_named(int64_t number, void *where);
NOT_INLINED double a_half(double value, short divisor);
NOT_INLINED long a_large(struct large large, int count);
NOT_INLINED long a_seven(long a, unsigned b, signed char c, bool d, uint16_t e, long f, long g);

NOT_INLINED long a_late(int count, const char *first, const char *second);
NOT_INLINED int a_never(const char *path, int count);

/* Keeps the compiler from knowing what a function does. */
#define OPAQUE() __asm__ volatile("" ::: "memory")

static char words[16];

int a_text(const char *path, int count, uint8_t level)
{
	OPAQUE();
	return path == (const char *)8 ? -1 : (int)strlen(path) * count + level;
}

const char *a_named(int64_t number, void *where)
{
	OPAQUE();
	snprintf(words, sizeof(words), "n%" PRId64, number % 1000);
	return where ? words : NULL;
}

double a_half(double value, short divisor)
{
	OPAQUE();
	return value / divisor;
}

long a_large(struct large large, int count)
{
	OPAQUE();
	return large.fields[count & 3];
}

long a_seven(long a, unsigned b, signed char c, bool d, uint16_t e, long f, long g)
{
	OPAQUE();
	return a + (long)b + c + d + e + f + g;
}

long a_late(int count, const char *first, const char *second)
{
	OPAQUE();
	return count + (long)strlen(second) * (long)strlen(first);
}

int a_never(const char *path, int count)
{
	OPAQUE();
	return path ? count : 0;
}

static long draw(void)
{
	return (random() << 20) ^ random();
}

/* Texts of all lengths around those that are cut, and with bytes that need quotes. */
static void make_text(char *text, int length)
{
	for (int i = 0; i < length; i++)
		text[i] = "abc\"\\/x\n"[random() & 7];
	text[length] = '\0';
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", stdout);
		else
			printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	putchar('"');
}

static void call_text(bool wild)
{
	char text[256];
	int count = (int)draw(), got;
	uint8_t level = (uint8_t)random();

	make_text(text, (int)(random() % 140));
	got = a_text(wild ? (const char *)8 : text, count, level);
	fputs("{\"name\":\"a_text\",\"args\":{\"path\":", stdout);
	if (wild)
		fputs("null", stdout);
	else
		print_text(text);
	printf(",\"count\":%d,\"level\":%u},\"ret\":%d}\n", count, level, got);
}

/* Texts of a file, a page each. */
#define TEXTS	  64
#define TEXT_ROOM 4096

/* The text, which is not in this process's memory. The kernel also maps pages around one that is
 * touched: so its mapping has one page, and the neighbours have others than the file has there. */
static const char *map_text(int file, int number)
{
	const char *text =
		mmap(NULL, TEXT_ROOM, PROT_READ, MAP_PRIVATE, file, (off_t)number * TEXT_ROOM);

	if (text == MAP_FAILED) {
		perror("arguments: a file cannot be mapped");
		exit(1);
	}
	return text;
}

static int make_file(void)
{
	char name[] = "arguments-XXXXXX", text[TEXT_ROOM] = "";
	int file = mkstemp(name);

	for (int i = 0; file >= 0 && i < TEXTS; i++) {
		make_text(text, 1 + (int)(random() % 140));
		if (write(file, text, sizeof(text)) != sizeof(text))
			file = -1;
	}
	if (file < 0) {
		perror("arguments: a file cannot be written");
		exit(1);
	}
	unlink(name);
	return file;
}

/* The texts of one call are not there at its entry, or only the first is. */
static void call_late(int file)
{
	int number = (int)(random() % (TEXTS - 1)), count = (int)draw(), got_never;
	const char *first = map_text(file, number), *second = map_text(file, number + 1),
		   *never = map_text(file, (number + TEXTS / 2) % TEXTS);
	bool there = random() & 1;
	long got;

	if (there)
		(void)*(const volatile char *)first;
	got = a_late(count, first, second);
	printf("{\"name\":\"a_late\",\"late\":[%s\"second\"],\"args\":{\"count\":%d,\"first\":",
	       there ? "" : "\"first\",", count);
	print_text(first);
	fputs(",\"second\":", stdout);
	print_text(second);
	printf("},\"ret\":%ld}\n", got);
	got_never = a_never(never, count);
	printf("{\"name\":\"a_never\",\"args\":{\"path\":null,\"count\":%d},\"ret\":%d}\n", count,
	       got_never);
	munmap((void *)first, TEXT_ROOM);
	munmap((void *)second, TEXT_ROOM);
	munmap((void *)never, TEXT_ROOM);
}

static void call_others(void)
{
	int64_t number = draw();
	void *where = random() & 1 ? words : NULL;
	const char *named = a_named(number, where);
	struct large large = {{1, 2, 3, draw()}};
	unsigned b = (unsigned)draw();
	signed char c = (signed char)random();
	uint16_t e = (uint16_t)random();
	int count = (int)(random() & 3);
	short divisor = (short)(1 + random() % 9);
	long a = draw(), got;

	printf("{\"name\":\"a_named\",\"args\":{\"number\":%" PRId64 ",\"where\":\"0x%" PRIxPTR
	       "\"},\"ret\":",
	       number, (uintptr_t)where);
	if (named)
		print_text(named);
	else
		fputs("null", stdout);
	puts("}");
	a_half((double)number, divisor);
	printf("{\"name\":\"a_half\",\"args\":{\"divisor\":%d},\"ret\":null}\n", divisor);
	got = a_large(large, count);
	printf("{\"name\":\"a_large\",\"args\":{\"count\":%d},\"ret\":%ld}\n", count, got);
	got = a_seven(a, b, c, random() & 1, e, 6, 7);
	printf("{\"name\":\"a_seven\",\"args\":{\"a\":%ld,\"b\":%u,\"c\":%d,\"e\":%u},\"ret\":%ld}"
	       "\n",
	       a, b, c, e, got);
}

int main(int count, char **arguments)
{
	int file;

	srandom(count > 1 ? (unsigned)atoi(arguments[1]) : 1);
	file = make_file();
	for (int i = 0; i < 100; i++) {
		call_text(i % 10 == 9);
		call_others();
		call_late(file);
	}
	return 0;
}
