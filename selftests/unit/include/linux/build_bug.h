/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PURE_LINUX_BUILD_BUG_H
#define _PURE_LINUX_BUILD_BUG_H

/* The kernel's takes one argument or two; so does this one. */
#define static_assert(expr, ...) _Static_assert(expr, #expr)

#endif
