/* SPDX-License-Identifier: GPL-2.0 */
/* The few types of the kernel that the pure files use. */
#ifndef _PURE_LINUX_TYPES_H
#define _PURE_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;

#define __packed	__attribute__((packed))
#define __noreturn	__attribute__((noreturn))
#define __printf(a, b)	__attribute__((format(printf, a, b)))

#endif
