/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PURE_LINUX_MODULE_H
#define _PURE_LINUX_MODULE_H

#define MODULE_LICENSE(text)		_Static_assert(1, text)
#define MODULE_DESCRIPTION(text)	_Static_assert(1, text)

#endif
