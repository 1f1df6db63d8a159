/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trouble for one kind of message of the CM, for cases of two hosts.
 */
#ifndef _LINK_CM_H
#define _LINK_CM_H

#include "lib/pair.h"

/* Attribute ids of the CM's messages. */
enum cm_message {
	CM_REQ	= 0x10,
	CM_REJ	= 0x12,
	CM_REP	= 0x13,
	CM_RTU	= 0x14,
	CM_DREQ	= 0x15,
	CM_DREP	= 0x16,
};

enum cm_trouble { LOST, BRIEF, LATE, SLOW };

enum {
	LASTS		= 4000,		/* ms: LOST and LATE, longer than what they hit, */
	SHORT		= 300,		/* and BRIEF */
	HOW_LATE	= 600,
	/* Before ktap_ms(): SLOW, so that it comes when most of the attempt is over. */
	SLOW_ATTEMPT	= 1000,
	HOW_SLOW	= 700,
};

/*
 * Such messages that this host sends are in trouble from now on, for that long.
 * Wait for the end with CHILD_OK().
 */
pid_t trouble_(enum cm_message msg, enum cm_trouble kind);
#define trouble(...) CALL(trouble_(__VA_ARGS__))
/* The same for so many ms. */
pid_t trouble_for_(enum cm_message msg, enum cm_trouble kind, int ms);
#define trouble_for(...) CALL(trouble_for_(__VA_ARGS__))

#endif
