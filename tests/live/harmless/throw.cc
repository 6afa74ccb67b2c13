/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exceptions through functions that are recorded, and out of a sort. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static int destroyed;

struct kept {
	~kept()
	{
		destroyed++;
	}
};

__attribute__((noinline)) static int deep(int depth)
{
	kept here;

	if (!depth)
		throw std::runtime_error("deep " + std::to_string(destroyed));
	return deep(depth - 1) + 1;
}

static int compare(const void *a, const void *b)
{
	static int times;

	if (++times % 13 == 0)
		throw times;
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

int main()
{
	long sum = 0;

	for (int i = 0; i < 30; i++) {
		std::vector<int> values(20);

		try {
			deep(i);
		} catch (const std::exception &error) {
			sum += std::string(error.what()).size();
		}
		for (int k = 0; k < 20; k++)
			values[k] = k * 7919 % 97;
		try {
			std::qsort(values.data(), values.size(), sizeof(int), compare);
		} catch (int times) {
			sum += times;
		}
	}
	std::printf("sum %ld, destroyed %d\n", sum, destroyed);
	return 5;
}
