// SPDX-License-Identifier: GPL-2.0
/*
 * Libraries that are looked for when they are needed: who has no RDMA needs none of it,
 * and has the other transports.
 */
#include <dlfcn.h>

#include "transport.h"

/**
 * library_open() - load a library
 * @name: its soname
 * @package: of Debian, that has it
 *
 * Context: Any thread; gives up if it is not there.
 * Return: what library_symbol() takes.
 */
void *library_open(const char *name, const char *package)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		fail("%s: install %s", dlerror(), package);
	return library;
}

/**
 * library_symbol() - a function of a library
 * @library: the library
 * @name: its name
 *
 * Context: Any thread; gives up if the library is too old to have it.
 * Return: the function.
 */
void *library_symbol(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		fail("%s", dlerror());
	return symbol;
}
