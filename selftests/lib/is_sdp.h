/* SPDX-License-Identifier: GPL-2.0 */
/* Whether SDP carries the bytes, by whichever transport it has. */
#ifndef _IS_SDP_H
#define _IS_SDP_H

#include <stdbool.h>

#include <linux/sdp.h>

/* Of what SDP_INFO or IP_SDP_INFO has said. */
static inline bool info_is_sdp(const struct sdp_info *info)
{
	return info->sdpi_transport != SDP_TRANSPORT_NONE &&
	       info->sdpi_transport != SDP_TRANSPORT_TCP;
}

#endif
