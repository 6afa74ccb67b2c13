/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Coroutines of Boost, with exceptions in them and out of them. */
#include <boost/context/fiber.hpp>
#include <cstdio>
#include <stdexcept>

namespace context = boost::context;

int main()
{
	long sum = 0, caught = 0;
	int value = 0;

	for (int round = 0; round < 20; round++) {
		context::fiber numbers([&](context::fiber &&outside) {
			for (int i = 1; i <= 50; i++) {
				try {
					if (i % 5 == 0)
						throw std::runtime_error("five");
					value = i * round;
				} catch (const std::exception &) {
					caught++;
				}
				outside = std::move(outside).resume();
			}
			return std::move(outside);
		});

		while (numbers) {
			numbers = std::move(numbers).resume();
			sum += value;
		}
	}
	std::printf("sum %ld, caught %ld\n", sum, caught);
	return 0;
}
