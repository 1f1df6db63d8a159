// SPDX-License-Identifier: GPL-2.0
/* The transports that there are, in the order in which they are measured and shown. */
#include <string.h>

#include "transport.h"

const struct transport *const transports[NTRANSPORTS] = {
	&over_tcp, &over_unix, &over_sdp, &over_local, &over_rsocket, &over_verbs,
};

/**
 * transport_by_name() - the one that is called so
 * @name: its name, which need not end there
 * @len: bytes of it
 * @index: its index, if not NULL
 *
 * Context: Any.
 * Return: NULL if none is.
 */
const struct transport *transport_by_name(const char *name, size_t len, int *index)
{
	int i;

	for (i = 0; i < NTRANSPORTS; i++) {
		if (strlen(transports[i]->name) != len || memcmp(transports[i]->name, name, len))
			continue;
		if (index)
			*index = i;
		return transports[i];
	}
	return NULL;
}
