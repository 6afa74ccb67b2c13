/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads all that an iterator of the kernel side writes, however long it is. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/stream/iterator.h"

int clew_iterate_read(const struct bpf_program *program, char **ret_data, size_t *ret_size)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	size_t size = 0, room = 1 << 20;
	char *data = malloc(room);
	int error = 0, file;
	ssize_t got;

	if (!link || !data) {
		error = link ? -ENOMEM : -errno;
		bpf_link__destroy(link);
		free(data);
		return error;
	}
	file = bpf_iter_create(bpf_link__fd(link));
	if (file < 0)
		error = -errno;
	while (!error) {
		if (size == room) {
			char *larger = realloc(data, room *= 2);

			if (!larger) {
				error = -ENOMEM;
				break;
			}
			data = larger;
		}
		got = read(file, data + size, room - size);
		if (got == 0)
			break;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			error = -errno;
		if (got > 0)
			size += got;
	}
	if (file >= 0)
		close(file);
	bpf_link__destroy(link);
	if (error) {
		free(data);
		return error;
	}
	*ret_data = data;
	*ret_size = size;
	return 0;
}
