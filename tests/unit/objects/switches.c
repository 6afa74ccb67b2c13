/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Indirect jumps within a function and out of it, for tests/unit/test_functions.c, which
 * has them compiled in several ways. Nothing runs them.
 */
int interpret(const unsigned char *code, int value);
int threaded(const unsigned char *code, int value);
int chosen(unsigned number, int value);
int passed(int (*function)(int value), int value);
int outside(int value);

/* A switch in a loop. */
int interpret(const unsigned char *code, int value)
{
	for (;;) {
		switch (*code++) {
		case 0:
			return value;
		case 1:
			value += 3;
			break;
		case 2:
			value *= 5;
			break;
		case 3:
			value ^= value >> 3;
			break;
		case 4:
			value -= code[0];
			break;
		case 5:
			value = outside(value);
			break;
		case 6:
			value <<= code[1] & 7;
			break;
		case 7:
			code += value & 3;
			break;
		default:
			return -1;
		}
	}
}

/* The same, with a jump of its own behind each instruction. */
int threaded(const unsigned char *code, int value)
{
	static const void *const labels[] = {&&end, &&add, &&multiply, &&mix, &&call};

#define NEXT goto *labels[*code++]
	NEXT;
add:
	value += 3;
	NEXT;
multiply:
	value *= 5;
	NEXT;
mix:
	value ^= value >> 3;
	NEXT;
call:
	value = outside(value);
	NEXT;
end:
	return value;
}

static int first(int value)
{
	return outside(value) + 1;
}

static int second(int value)
{
	return outside(value) + 2;
}

/* A table as well, but of functions. */
int chosen(unsigned number, int value)
{
	static int (*const functions[])(int value) = {first, second, first, second};

	return functions[number & 3](value);
}

int passed(int (*function)(int value), int value)
{
	return function(value + 1);
}
