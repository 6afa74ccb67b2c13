/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions with arguments of all kinds, for tests/unit/test_dwarf.c. Nothing runs them. */
#include <stddef.h>
#include <stdint.h>

typedef const char *name_t;
enum color { RED, GREEN };
struct small {
	int a, b;
};
struct large {
	long fields[4];
};
union both {
	int a;
	float b;
};

int taken(int value);
int simple(name_t path, int count);
unsigned char kinds(char a, unsigned short b, long c, enum color d, const void *e, _Bool f);
long seven(long a, long b, long c, long d, long e, long f, long g);
int floats(double a, int b, float c, unsigned d);
int structures(struct small a, int b);
struct large made(int a);
double halves(int a);
void nothing(void);
void takes(int a, const char *path);
int callers(int a);

int simple(name_t path, int count)
{
	return taken(path[count]);
}

unsigned char kinds(char a, unsigned short b, long c, enum color d, const void *e, _Bool f)
{
	return (unsigned char)taken(a + b + (int)c + (int)d + (e != NULL) + f);
}

long seven(long a, long b, long c, long d, long e, long f, long g)
{
	return a + b + c + d + e + f + taken((int)g);
}

int floats(double a, int b, float c, unsigned d)
{
	return taken((int)a + b + (int)c + (int)d);
}

int structures(struct small a, int b)
{
	return taken(a.a + a.b + b);
}

struct large made(int a)
{
	return (struct large){{taken(a)}};
}

double halves(int a)
{
	return taken(a) / 2.0;
}

void takes(int a, const char *path)
{
	(void)a;
	(void)path;
}

void nothing(void)
{
	taken(0);
}

/* Called, and copied as well. */
inline int both(int a)
{
	return taken(a) * 3;
}
extern int both(int a);

int callers(int a)
{
	return both(a) + both(a + 1) + both(a + 2);
}
