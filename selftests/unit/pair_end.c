// SPDX-License-Identifier: GPL-2.0
/*
 * An end of a joined pair, and what lies between the two.
 *
 * An end uses the pure files as the module does: a ring of receive buffers that
 * are posted first and counted after, a queue of messages that waits for
 * credits, answers that wait beside it, a reader and a writer that come when
 * they please, a DisConn behind all data, and the CM's messages, which overtake
 * those on the queue pair.
 *
 * What lies between the two is kept at the end that it is on the way to: the
 * messages of the queue pair in one list, those of the CM in another.  Most
 * functions are one thing that can happen to an end; pair.c picks when.
 */
#include <stdlib.h>
#include <string.h>

#include "pair.h"

/* Messages on their way, and waiting to be read. */

void fifo_init(struct fifo *fifo)
{
	fifo->head = NULL;
	fifo->tail = &fifo->head;
	fifo->count = 0;
}

static void fifo_put(struct fifo *fifo, struct msg *msg)
{
	msg->next = NULL;
	*fifo->tail = msg;
	fifo->tail = &msg->next;
	fifo->count++;
}

static struct msg *fifo_get(struct fifo *fifo)
{
	struct msg *msg = fifo->head;

	fifo->head = msg->next;
	if (!fifo->head)
		fifo->tail = &fifo->head;
	fifo->count--;
	return msg;
}

void fifo_drop(struct fifo *fifo)
{
	while (fifo->head)
		free(fifo_get(fifo));
}

static u8 stream_byte(const struct end *source, u64 pos)
{
	u32 x = (u32)pos * 2654435761u + source->salt;

	return x >> 24 ^ x >> 7;
}

bool is_over(const struct end *end)
{
	return end->state == SDP_CLOSED || end->state == SDP_TIME_WAIT_1 ||
	       end->state == SDP_TIME_WAIT_2;
}

/* Everything is somewhere, and flow knows it. */
void check_ring(const struct end *end)
{
	CHECK(end->spare + end->hw_posted + end->cq.count + end->rxq.count ==
	      end->ring, "%s", end->name);
	CHECK(end->flow.posted + end->uncounted == end->hw_posted + end->cq.count,
	      "%s", end->name);
	CHECK(sdp_flow_credits(&end->flow) <= end->flow.peer_bufs, "%s", end->name);
	CHECK(sdp_flow_known(&end->flow) <= end->flow.posted, "%s", end->name);
}

/* States and what they ask for. */

static void post_abort_conn(struct end *end);

void cm_send(struct end *to, enum sdp_event event)
{
	CHECK(to->cm_count < CM_MAX, "%s", to->name);
	to->cm[to->cm_count++] = event;
}

void event(struct end *end, enum sdp_event what)
{
	enum sdp_state was = end->state;
	unsigned int todo = sdp_state_next(&end->state, what);

	say("%s: %s on %d -> %s, todo %#x\n", end->name,
	    sdp_state_name(was), what, sdp_state_name(end->state), todo);

	seen[SEEN_CLOSING] += end->state == SDP_CLOSING && was != SDP_CLOSING;
	seen[SEEN_EARLY_SHUT] += was == SDP_SYN_RECV && end->state == SDP_FIN_WAIT_1;
	seen[SEEN_LAST_ACK_TIMER] += was == SDP_LAST_ACK && what == SDP_EV_FIN_TIMEOUT;

	/* Nobody asked for a reset: there must be none. */
	CHECK(!(todo & SDP_DO_RESET) || conn_kind == ABORTED, "%s in %s",
	      end->name, sdp_state_name(was));
	if (todo & SDP_DO_RESET)
		end->reset = true;
	if (todo & SDP_DO_WAKE) {
		CHECK(!end->connected, "%s", end->name);
		end->connected = true;
		end->push_due = true;
	}
	if (todo & SDP_DO_DISCONN) {
		CHECK(!end->fin_queued, "%s", end->name);
		end->fin_queued = true;
		end->push_due = true;
	}
	if (todo & SDP_DO_EOF) {
		CHECK(!end->eof_heard, "%s", end->name);
		end->eof_heard = true;
	}
	if (todo & SDP_DO_ABORTCONN)
		post_abort_conn(end);
	/* The CM knows that it is void when the peer's came first. */
	if ((todo & SDP_DO_END) && !end->dreq_heard)
		cm_send(end->peer, SDP_EV_END_HEARD);
	if (todo & SDP_DO_END_ACK) {
		CHECK(end->dreq_heard, "%s", end->name);
		cm_send(end->peer, SDP_EV_END_DONE);
	}
	if (todo & SDP_DO_TIMER)
		end->timer = true;
	if (todo & SDP_DO_FREE) {
		CHECK(!end->freed, "%s", end->name);
		end->freed = true;
		/* The CM refuses for us what it had in hand. */
		if (was == SDP_SYN_SENT || was == SDP_SYN_RECV)
			cm_send(end->peer, SDP_EV_REFUSED);
	}
	if (is_over(end)) {
		/* The queue pair is in error: nothing comes, nothing goes. */
		end->spare += end->cq.count;
		end->hw_posted -= end->uncounted;
		end->spare += end->uncounted + end->hw_posted;
		end->uncounted = 0;
		end->hw_posted = 0;
		end->flow.posted = 0;
		fifo_drop(&end->cq);
		fifo_drop(&end->wire);
	}
}

/* Sending. */

void post(struct end *end, struct sdp_wire_msg *msg, u64 from)
{
	u32 head = SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid);
	struct msg *made;
	u8 *payload;
	u32 i;

	/* 3.2, in words of its own. */
	CHECK(sdp_flow_credits(&end->flow) >=
	      (msg->mid == SDP_MID_DATA && msg->len == SDP_LEN_BSDH ? 1 :
	       msg->mid == SDP_MID_DATA || msg->mid == SDP_MID_SRC_AVAIL ? 3 : 2),
	      "%s: MID %#x", end->name, msg->mid);
	CHECK(msg->len <= end->peer->rcvsz, "%s: %u bytes", end->name, msg->len);
	sdp_flow_take(&end->flow, msg);
	seen[SEEN_WRAP] += msg->mseq == 0;
	seen[SEEN_HALF_CLOSED] += end->eof_heard && msg->mid == SDP_MID_DATA &&
				  msg->len > SDP_LEN_BSDH;
	made = malloc(sizeof(*made) + msg->len);
	CHECK(made, "memory");
	made->bytes = msg->len;
	CHECK(sdp_wire_put(made->data, msg) == head, "MID %#x", msg->mid);
	payload = (u8 *)made->data + head;
	for (i = 0; i < msg->len - head; i++)
		payload[i] = stream_byte(end, from + i);

	say("%s: sends MID %#x, %u bytes, Bufs %u, MSeq %#x, Ack %#x; %u credits\n",
	    end->name, msg->mid, msg->len, msg->bufs, msg->mseq, msg->mseq_ack,
	    sdp_flow_credits(&end->flow));
	if (is_over(end->peer))
		free(made);
	else
		fifo_put(&end->peer->wire, made);
	end->sent++;
	if (msg->mid == SDP_MID_DATA && msg->len == SDP_LEN_BSDH)
		end->updates++;
	else
		end->others++;
}

void post_plain(struct end *end, u8 mid)
{
	struct sdp_wire_msg msg = {
		.mid = mid, .len = SDP_LEN_BSDH + sdp_wire_ext_len(mid),
	};

	/* ChRcvBuf and its answer, so nothing is left unsaid. */
	if (mid == SDP_MID_CH_RCV_BUF_ACK)
		msg.ext.rcvsz = end->rcvsz;
	else if (mid == SDP_MID_CH_RCV_BUF)
		msg.ext.rcvsz = rnd();
	else
		msg.ext.sid = 0x1c001;
	post(end, &msg, 0);
}

void post_data(struct end *end, u32 bytes)
{
	struct sdp_wire_msg msg = {
		.mid = SDP_MID_DATA, .len = SDP_LEN_BSDH + bytes,
	};

	post(end, &msg, end->tx_pos);
	end->tx_pos += bytes;
}

static void post_abort_conn(struct end *end)
{
	/* 6.3: only after our DisConn has gone out. */
	if (end->fin_posted && sdp_flow_may(&end->flow, SDP_FLOW_CONTROL))
		post_plain(end, SDP_MID_ABORT_CONN);
}

bool may_control(const struct end *end)
{
	return sdp_flow_may(&end->flow, SDP_FLOW_CONTROL);
}

static void push_answers(struct end *end)
{
	/* What it was to refuse may have been taken back meanwhile. */
	if (!sdp_snk_may_refuse(&end->mode.snk))
		end->ctl_sendsm = false;
	if (end->ctl_sendsm && may_control(end)) {
		post_plain(end, SDP_MID_SEND_SM);
		sdp_snk_refused(&end->mode.snk, end->flow.tx_mseq);
		end->ctl_sendsm = false;
	}
	if (end->ctl_rcvbuf_ack && may_control(end)) {
		post_plain(end, SDP_MID_CH_RCV_BUF_ACK);
		end->ctl_rcvbuf_ack = false;
	}
	if (end->ctl_susp_ack && may_control(end)) {
		post_plain(end, SDP_MID_SUSP_COMM_ACK);
		end->ctl_susp_ack = false;
	}
}

static void push_queue(struct end *end)
{
	while (end->queued && sdp_flow_may(&end->flow, SDP_FLOW_PAYLOAD)) {
		post_data(end, end->queue[0]);
		end->queued--;
		memmove(end->queue, end->queue + 1,
			end->queued * sizeof(end->queue[0]));
	}
}

static void push_fin(struct end *end)
{
	if (!end->fin_queued || end->fin_posted || !may_control(end))
		return;
	/* Behind all data, and no SrcAvail may be outstanding (6.1). */
	if (end->tx_pos != end->wr_total || end->foreign.count ||
	    end->foreign.cancel_pending)
		return;
	post_plain(end, SDP_MID_DISCONN);
	end->fin_posted = true;
	end->fin_at = end->sent;
}

static bool owes_update(const struct end *end)
{
	u32 known = sdp_flow_known(&end->flow);

	if (!end->foreign.on)
		return sdp_flow_owes_update(&end->flow);
	/* The letter of 3.3, without the care that ours takes. */
	return (known < 3 && end->flow.posted > known) ||
	       2 * end->flow.posted >= 3 * known;
}

/* Order of service: 3.2. */
void push(struct end *end)
{
	end->push_due = false;
	if (!end->connected || is_over(end))
		return;
	if (end->foreign.on) {
		foreign_push_control(end);
		foreign_push_stream(end);
	} else {
		push_answers(end);
		push_queue(end);
	}
	if (owes_update(end) && end->flow.posted > sdp_flow_known(&end->flow) &&
	    sdp_flow_may(&end->flow, SDP_FLOW_UPDATE))
		post_data(end, 0);
	seen[SEEN_NO_CREDIT] += end->queued > 0;
	push_fin(end);
	check_ring(end);
}

/* Hearing. */

static void our_heard(struct end *end, const struct sdp_wire_msg *msg,
		      bool *deliver)
{
	int verdict = sdp_mode_heard(&end->mode, msg);

	CHECK(verdict >= 0, "%s: MID %#x: %d", end->name, msg->mid, verdict);
	if (verdict & SDP_HEARD_ADVERT)
		sdp_snk_refuse(&end->mode.snk);
	if (verdict & (SDP_HEARD_ADVERT | SDP_HEARD_SENDSM))
		end->ctl_sendsm = true;
	if (verdict & SDP_HEARD_RCVBUF)
		end->ctl_rcvbuf_ack = true;
	if (verdict & SDP_HEARD_SUSP_ACK)
		end->ctl_susp_ack = true;
	*deliver = verdict & SDP_HEARD_DELIVER;
	if (verdict & SDP_HEARD_FIN)
		event(end, SDP_EV_FIN_HEARD);
	if (verdict & SDP_HEARD_RESET)
		event(end, SDP_EV_ABORT_HEARD);
}

void poll_one(struct end *end)
{
	struct msg *msg = fifo_get(&end->cq);
	struct sdp_wire_msg got;
	bool deliver = false;

	/* The RTU may be overtaken (1.5). */
	if (!end->connected)
		event(end, SDP_EV_ESTABLISHED);

	CHECK(sdp_wire_get(&got, msg->data, msg->bytes) == SDP_WIRE_OK, "%s: MID %#x",
	      end->name, *(u8 *)msg->data);
	CHECK(sdp_flow_heard(&end->flow, &got) == 0, "%s: MSeq %#x Ack %#x Bufs %u",
	      end->name, got.mseq, got.mseq_ack, got.bufs);
	say("%s: hears MID %#x, MSeq %#x; %u credits\n", end->name, got.mid,
	    got.mseq, sdp_flow_credits(&end->flow));
	/* Whose buffer it is must be clear before a state lets go of all. */
	end->spare++;
	if (end->foreign.on)
		foreign_heard(end, &got, &deliver);
	else
		our_heard(end, &got, &deliver);
	if (deliver) {
		end->spare--;
		fifo_put(&end->rxq, msg);
	} else {
		free(msg);
	}
	end->push_due = true;
}

/* The users. */

void user_write(struct end *end)
{
	u64 left = end->wr_total - end->wr_pos;
	u32 chunk = between(1, at_most(left, 4 * end->payload_max));

	if (end->foreign.on) {
		end->wr_pos += chunk;
		end->push_due = true;
		return;
	}
	while (chunk) {
		u32 room = end->queued ?
			end->payload_max - end->queue[end->queued - 1] : 0;
		struct sdp_mode_slice slice =
			sdp_mode_pick(chunk, end->payload_max, room);

		CHECK(slice.bytes > 0 && slice.bytes <= chunk, "%s", end->name);
		if (slice.coalesce) {
			CHECK(slice.bytes <= room, "%s", end->name);
			end->queue[end->queued - 1] += slice.bytes;
		} else {
			CHECK(slice.bytes <= end->payload_max, "%s", end->name);
			if (end->queued == QUEUE_MAX)
				break;
			end->queue[end->queued++] = slice.bytes;
		}
		end->wr_pos += slice.bytes;
		chunk -= slice.bytes;
	}
	end->push_due = true;
}

void user_read(struct end *end)
{
	u32 want = between(1, 3 * end->rcvsz);

	while (want && end->rxq.head) {
		struct msg *msg = end->rxq.head;
		u8 *bytes = (u8 *)msg->data;
		u32 head = SDP_LEN_BSDH + sdp_wire_ext_len(bytes[0]);
		u32 n = at_most(want, msg->bytes - head - end->rx_off), i;

		for (i = 0; i < n; i++)
			CHECK(bytes[head + end->rx_off + i] ==
			      stream_byte(end->peer, end->rd_pos + i),
			      "%s: byte %llu", end->name,
			      (unsigned long long)end->rd_pos + i);
		end->rd_pos += n;
		end->rx_off += n;
		want -= n;
		if (end->rx_off < msg->bytes - head)
			return;
		free(fifo_get(&end->rxq));
		end->rx_off = 0;
		end->spare++;
	}
	if (!end->rxq.head && end->eof_heard) {
		CHECK(end->rd_pos == end->peer->wr_total, "%s: end of file at %llu",
		      end->name, (unsigned long long)end->rd_pos);
		end->eof_seen = true;
	}
}

/* The CM. */

void cm_deliver(struct end *end)
{
	enum sdp_event what = end->cm[0];

	end->cm_count--;
	memmove(end->cm, end->cm + 1, end->cm_count * sizeof(end->cm[0]));
	if (what == SDP_EV_ESTABLISHED) {
		/* The first message may have been faster. */
		if (!end->connected)
			event(end, what);
		return;
	}
	if (what == SDP_EV_END_HEARD) {
		end->dreq_heard = true;
		/* The peer's DisConn may be among what was not polled (6.1). */
		seen[SEEN_DREQ_FIRST] += end->cq.head && !end->eof_heard;
		while (end->cq.head && !is_over(end))
			poll_one(end);
	}
	event(end, what);
}

void complete_one(struct end *end)
{
	end->completed++;
	if (end->fin_posted && end->completed == end->fin_at)
		event(end, SDP_EV_FIN_SENT);
	end->push_due = true;
}

void arrive_one(struct end *end)
{
	CHECK(end->hw_posted > 0, "%s: no buffer for a message", end->name);
	end->hw_posted--;
	fifo_put(&end->cq, fifo_get(&end->wire));
	end->peer->arrived++;
}
