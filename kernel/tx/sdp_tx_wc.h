/* SPDX-License-Identifier: GPL-2.0 */
/* Send completions; see sdp_tx_wc.c. */
#ifndef _SDP_TX_WC_H
#define _SDP_TX_WC_H

#include "sdp_conn.h"

void sdp_tx_wc(struct sdp_conn *conn, struct sdp_msg *msg, int status);

#endif
