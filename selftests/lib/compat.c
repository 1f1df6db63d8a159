// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <netinet/tcp.h>

#include "compat.h"
#include "ktap.h"
#include "variant.h"

/*
 * Numbers, and not names: the headers of the machine that builds this may not have them
 * all.  They are those of every architecture that this is built for.
 */
#define SAME(level, option, name, shown)				\
	{ level, option, name, COMPAT_SAME, 0, shown, NULL }
#define SAME_BUT(level, option, name, shown, differs, why)		\
	{ level, option, name, COMPAT_SAME, differs, shown, why }
#define MAKES_TCP(level, option, name, shown, why)			\
	{ level, option, name, COMPAT_TCP, 0, shown, why }
#define UNUSED(level, option, name)					\
	{ level, option, name, COMPAT_UNUSED, 0, NULL, NULL }
#define NO_EFFECT(level, option, name, differs, why)			\
	{ level, option, name, COMPAT_NO_EFFECT, differs, NULL, why }
#define REFUSED(level, option, name, shown, differs, why)		\
	{ level, option, name, COMPAT_REFUSED, differs, shown, why }

#define VALUE	COMPAT_VALUE
#define GET	COMPAT_GET
#define SET	COMPAT_SET
#define REQUIRED COMPAT_REQUIRED

#define PACKETS	"Set on a connection that is SDP it has no effect: no packet of it passes the kernel."
#define NO_QDISC "What a queue pair sends passes no queueing discipline."
#define NO_PACKET "It tells something of packets, and none of a connection by SDP passes the kernel."
#define DEVICE	"The device acknowledges and repeats, by `net.sdp.ack_timeout` and `ack_retries`."
#define LOOKUP	"The program would be given a packet; a request for a connection by SDP is none, and the kernel " \
		"chooses by the hash of both addresses."
#define BUFFER	"TCP tunes what was not set, and says what it has come to; SDP's limits are `net.sdp`'s then."
#define LABEL	"RoCE packets have the flow label that the device gives them."
#define NAPI	"A completion queue is polled, no NAPI instance: by `SO_BUSY_POLL` and `net.sdp.poll_usec`."
#define REPAIR	"The state of a queue pair cannot be read or written: before `connect()` the socket is TCP, on a " \
		"connection by SDP it is EOPNOTSUPP."

const struct compat_option compat_options[] = {
	SAME(SOL_SOCKET, 1, "SO_DEBUG", NULL),
	SAME(SOL_SOCKET, 2, "SO_REUSEADDR", "reuseaddr_rebind*"),
	SAME(SOL_SOCKET, 3, "SO_TYPE", "create"),
	SAME(SOL_SOCKET, 4, "SO_ERROR", "connect_refused*"),
	MAKES_TCP(SOL_SOCKET, 5, "SO_DONTROUTE", "reasons_agree", PACKETS),
	UNUSED(SOL_SOCKET, 6, "SO_BROADCAST"),
	SAME_BUT(SOL_SOCKET, 7, "SO_SNDBUF", "buffer_size*", 0, BUFFER),
	SAME_BUT(SOL_SOCKET, 8, "SO_RCVBUF", "buffer_size*", 0, BUFFER),
	SAME(SOL_SOCKET, 9, "SO_KEEPALIVE", "keepalive_*"),
	SAME(SOL_SOCKET, 10, "SO_OOBINLINE", "urgent_inline"),
	UNUSED(SOL_SOCKET, 11, "SO_NO_CHECK"),
	NO_EFFECT(SOL_SOCKET, 12, "SO_PRIORITY", 0, NO_QDISC
		  " The class of RoCE's packets is `IP_TOS` or `IPV6_TCLASS`, set before `connect()`."),
	SAME(SOL_SOCKET, 13, "SO_LINGER", "linger_*"),
	UNUSED(SOL_SOCKET, 14, "SO_BSDCOMPAT"),
	SAME(SOL_SOCKET, 15, "SO_REUSEPORT", "reuseport_group"),
	UNUSED(SOL_SOCKET, 16, "SO_PASSCRED"),
	SAME(SOL_SOCKET, 17, "SO_PEERCRED", NULL),
	SAME(SOL_SOCKET, 18, "SO_RCVLOWAT", "so_rcvlowat rcvlowat_*"),
	SAME(SOL_SOCKET, 19, "SO_SNDLOWAT", NULL),
	SAME(SOL_SOCKET, 20, "SO_RCVTIMEO", "so_timeouts recv_timeout"),
	SAME(SOL_SOCKET, 21, "SO_SNDTIMEO", "so_timeouts send_timeout"),
	SAME_BUT(SOL_SOCKET, 25, "SO_BINDTODEVICE", "bound_to_another_device", 0,
		 "A device other than the one with the local address makes it TCP."),
	MAKES_TCP(SOL_SOCKET, 26, "SO_ATTACH_FILTER", "reasons_agree", PACKETS),
	SAME(SOL_SOCKET, 27, "SO_DETACH_FILTER", NULL),
	SAME_BUT(SOL_SOCKET, 28, "SO_PEERNAME", NULL, GET | REQUIRED,
		 "A socket for SDP alone that was refused has no names any more: ENOTCONN, where TCP still has the "
		 "peer's."),
	SAME_BUT(SOL_SOCKET, 29, "SO_TIMESTAMP", "stamps_*", 0,
		 "The time is when the message was taken from the completion queue."),
	SAME(SOL_SOCKET, 30, "SO_ACCEPTCONN", "listen_sets_acceptconn"),
	SAME(SOL_SOCKET, 31, "SO_PEERSEC", NULL),
	SAME(SOL_SOCKET, 32, "SO_SNDBUFFORCE", NULL),
	SAME(SOL_SOCKET, 33, "SO_RCVBUFFORCE", NULL),
	UNUSED(SOL_SOCKET, 34, "SO_PASSSEC"),
	SAME(SOL_SOCKET, 35, "SO_TIMESTAMPNS", "stamps_*"),
	SAME_BUT(SOL_SOCKET, 36, "SO_MARK", NULL, 0,
		 "The way of a `connect()` is chosen by it; nftables sees no packet that has it."),
	MAKES_TCP(SOL_SOCKET, 37, "SO_TIMESTAMPING", "stamps_* reasons_agree",
		  "Of what is received by software it works; of what is sent, or by hardware, it makes the socket TCP."),
	SAME(SOL_SOCKET, 38, "SO_PROTOCOL", "create"),
	SAME(SOL_SOCKET, 39, "SO_DOMAIN", "create"),
	UNUSED(SOL_SOCKET, 40, "SO_RXQ_OVFL"),
	UNUSED(SOL_SOCKET, 41, "SO_WIFI_STATUS"),
	SAME(SOL_SOCKET, 42, "SO_PEEK_OFF", "peek_off"),
	UNUSED(SOL_SOCKET, 43, "SO_NOFCS"),
	SAME(SOL_SOCKET, 44, "SO_LOCK_FILTER", NULL),
	UNUSED(SOL_SOCKET, 45, "SO_SELECT_ERR_QUEUE"),
	SAME(SOL_SOCKET, 46, "SO_BUSY_POLL", "poll_asked*"),
	NO_EFFECT(SOL_SOCKET, 47, "SO_MAX_PACING_RATE", 0, NO_QDISC),
	SAME(SOL_SOCKET, 48, "SO_BPF_EXTENSIONS", NULL),
	NO_EFFECT(SOL_SOCKET, 49, "SO_INCOMING_CPU", 0,
		  "It is the processor that took the last packet."),
	MAKES_TCP(SOL_SOCKET, 50, "SO_ATTACH_BPF", "reasons_agree", PACKETS),
	NO_EFFECT(SOL_SOCKET, 51, "SO_ATTACH_REUSEPORT_CBPF", 0, LOOKUP),
	NO_EFFECT(SOL_SOCKET, 52, "SO_ATTACH_REUSEPORT_EBPF", 0, LOOKUP),
	NO_EFFECT(SOL_SOCKET, 53, "SO_CNX_ADVICE", 0,
		  "A queue pair keeps the path that it was connected by."),
	NO_EFFECT(SOL_SOCKET, 55, "SO_MEMINFO", 0,
		  "It counts buffers of packets; `SDP_INFO` has the memory of a connection by SDP."),
	NO_EFFECT(SOL_SOCKET, 56, "SO_INCOMING_NAPI_ID", 0, NO_PACKET),
	SAME(SOL_SOCKET, 57, "SO_COOKIE", NULL),
	SAME(SOL_SOCKET, 59, "SO_PEERGROUPS", NULL),
	SAME(SOL_SOCKET, 60, "SO_ZEROCOPY", "lease_*"),
	UNUSED(SOL_SOCKET, 61, "SO_TXTIME"),
	SAME(SOL_SOCKET, 62, "SO_BINDTOIFINDEX", NULL),
	SAME(SOL_SOCKET, 63, "SO_TIMESTAMP_NEW", "stamps_*"),
	SAME(SOL_SOCKET, 64, "SO_TIMESTAMPNS_NEW", "stamps_*"),
	MAKES_TCP(SOL_SOCKET, 65, "SO_TIMESTAMPING_NEW", "stamps_*", "As `SO_TIMESTAMPING`."),
	SAME(SOL_SOCKET, 66, "SO_RCVTIMEO_NEW", NULL),
	SAME(SOL_SOCKET, 67, "SO_SNDTIMEO_NEW", NULL),
	SAME(SOL_SOCKET, 68, "SO_DETACH_REUSEPORT_BPF", NULL),
	NO_EFFECT(SOL_SOCKET, 69, "SO_PREFER_BUSY_POLL", 0, NAPI),
	NO_EFFECT(SOL_SOCKET, 70, "SO_BUSY_POLL_BUDGET", 0, NAPI),
	SAME(SOL_SOCKET, 71, "SO_NETNS_COOKIE", NULL),
	SAME(SOL_SOCKET, 72, "SO_BUF_LOCK", NULL),
	NO_EFFECT(SOL_SOCKET, 73, "SO_RESERVE_MEM", 0,
		  "Memory of a connection by SDP is charged as it is taken, and none is kept for later."),
	NO_EFFECT(SOL_SOCKET, 74, "SO_TXREHASH", 0,
		  "The way of a queue pair's packets is chosen by no hash that the kernel could change."),
	UNUSED(SOL_SOCKET, 75, "SO_RCVMARK"),
	UNUSED(SOL_SOCKET, 76, "SO_PASSPIDFD"),
	UNUSED(SOL_SOCKET, 77, "SO_PEERPIDFD"),
	NO_EFFECT(SOL_SOCKET, 80, "SO_DEVMEM_DONTNEED", 0,
		  "Nothing of SDP's is received into a network device's memory."),
	UNUSED(SOL_SOCKET, 82, "SO_RCVPRIORITY"),
	UNUSED(SOL_SOCKET, 83, "SO_PASSRIGHTS"),
	UNUSED(SOL_SOCKET, 84, "SO_INQ"),

	SAME(SOL_TCP, 1, "TCP_NODELAY", "nodelay_*"),
	SAME_BUT(SOL_TCP, 2, "TCP_MAXSEG", "tcp_maxseg", VALUE,
		 "On a connection it is the bytes of a message. What is set counts for TCP alone."),
	SAME(SOL_TCP, 3, "TCP_CORK", "tcp_cork cork_*"),
	SAME(SOL_TCP, 4, "TCP_KEEPIDLE", "keepalive_*"),
	NO_EFFECT(SOL_TCP, 5, "TCP_KEEPINTVL", 0, DEVICE),
	NO_EFFECT(SOL_TCP, 6, "TCP_KEEPCNT", 0, DEVICE),
	NO_EFFECT(SOL_TCP, 7, "TCP_SYNCNT", 0,
		  "How long SDP is tried is `net.sdp.connect_timeout` or `require_timeout`; TCP behind it has the count."),
	NO_EFFECT(SOL_TCP, 8, "TCP_LINGER2", 0,
		  "How long a closed connection waits for its peer's end is `net.sdp.fin_timeout`."),
	SAME(SOL_TCP, 9, "TCP_DEFER_ACCEPT", "defer_accept*"),
	NO_EFFECT(SOL_TCP, 10, "TCP_WINDOW_CLAMP", VALUE,
		  "There is no window: the peer sends by the receive buffers that are posted."),
	SAME(SOL_TCP, 11, "TCP_INFO", "tcp_info_*"),
	NO_EFFECT(SOL_TCP, 12, "TCP_QUICKACK", 0, DEVICE),
	NO_EFFECT(SOL_TCP, 13, "TCP_CONGESTION", 0,
		  "Congestion is the device's to control (DCQCN and the like)."),
	MAKES_TCP(SOL_TCP, 14, "TCP_MD5SIG", "reasons_agree", PACKETS),
	NO_EFFECT(SOL_TCP, 16, "TCP_THIN_LINEAR_TIMEOUTS", 0, DEVICE),
	NO_EFFECT(SOL_TCP, 17, "TCP_THIN_DUPACK", 0, DEVICE),
	SAME_BUT(SOL_TCP, 18, "TCP_USER_TIMEOUT", "user_timeout*", 0,
		 "It makes the time that a dead link is borne shorter, never longer, and is the time for the answer to a "
		 "keepalive, too."),
	{ SOL_TCP, 19, "TCP_REPAIR", COMPAT_TCP, SET, "reasons_agree", REPAIR },
	SAME(SOL_TCP, 20, "TCP_REPAIR_QUEUE", NULL),
	SAME(SOL_TCP, 21, "TCP_QUEUE_SEQ", NULL),
	SAME(SOL_TCP, 22, "TCP_REPAIR_OPTIONS", NULL),
	NO_EFFECT(SOL_TCP, 23, "TCP_FASTOPEN", 0,
		  "The clients that come to the listener by TCP may use it; a request by SDP carries no data."),
	NO_EFFECT(SOL_TCP, 24, "TCP_TIMESTAMP", 0, "It is the clock of TCP's packets."),
	SAME(SOL_TCP, 25, "TCP_NOTSENT_LOWAT", "notsent_lowat*"),
	NO_EFFECT(SOL_TCP, 26, "TCP_CC_INFO", 0, "As `TCP_CONGESTION`."),
	NO_EFFECT(SOL_TCP, 27, "TCP_SAVE_SYN", 0,
		  "A client by SDP sends no SYN: of its child `TCP_SAVED_SYN` has none."),
	NO_EFFECT(SOL_TCP, 28, "TCP_SAVED_SYN", 0, "As `TCP_SAVE_SYN`."),
	SAME(SOL_TCP, 29, "TCP_REPAIR_WINDOW", NULL),
	MAKES_TCP(SOL_TCP, 30, "TCP_FASTOPEN_CONNECT", "reasons_agree",
		  "So does `MSG_FASTOPEN`: data that go with a request are TCP's."),
	SAME_BUT(SOL_TCP, 31, "TCP_ULP", "tcp_ulp ulp_*", GET,
		 "`sdp` is the upper layer protocol of such a socket, so another cannot be set until it is TCP."),
	MAKES_TCP(SOL_TCP, 32, "TCP_MD5SIG_EXT", NULL, "As `TCP_MD5SIG`."),
	NO_EFFECT(SOL_TCP, 33, "TCP_FASTOPEN_KEY", 0, "As `TCP_FASTOPEN`."),
	NO_EFFECT(SOL_TCP, 34, "TCP_FASTOPEN_NO_COOKIE", 0, "As `TCP_FASTOPEN`."),
	REFUSED(SOL_TCP, 35, "TCP_ZEROCOPY_RECEIVE", NULL, GET,
		"It maps the pages of packets, and there are none: EOPNOTSUPP. A long `recv()` is not copied."),
	SAME(SOL_TCP, 36, "TCP_INQ", "tcp_inq"),
	NO_EFFECT(SOL_TCP, 37, "TCP_TX_DELAY", 0, NO_QDISC),
	MAKES_TCP(SOL_TCP, 38, "TCP_AO_ADD_KEY", NULL, PACKETS),
	MAKES_TCP(SOL_TCP, 39, "TCP_AO_DEL_KEY", NULL, "As `TCP_AO_ADD_KEY`."),
	MAKES_TCP(SOL_TCP, 40, "TCP_AO_INFO", NULL, "As `TCP_AO_ADD_KEY`."),
	MAKES_TCP(SOL_TCP, 41, "TCP_AO_GET_KEYS", NULL, "As `TCP_AO_ADD_KEY`."),
	MAKES_TCP(SOL_TCP, 42, "TCP_AO_REPAIR", NULL, "As `TCP_REPAIR`."),
	SAME(SOL_TCP, 43, "TCP_IS_MPTCP", NULL),
	NO_EFFECT(SOL_TCP, 44, "TCP_RTO_MAX_MS", 0, DEVICE),
	NO_EFFECT(SOL_TCP, 45, "TCP_RTO_MIN_US", 0, DEVICE),
	NO_EFFECT(SOL_TCP, 46, "TCP_DELACK_MAX_US", 0, DEVICE),
	SAME_BUT(SOL_TCP, SDP_ZCOPY_THRESH, "SDP_ZCOPY_THRESH", NULL, GET | SET,
		 "It is OFED's name of `SDP_ZCOPY`, which TCP does not have."),

	SAME_BUT(SOL_IP, 1, "IP_TOS", "options_tos type_of_service", 0,
		 "Set after `connect()` it has no effect, and the server's packets have the client's: a path's class "
		 "is told when the connection is made."),
	NO_EFFECT(SOL_IP, 2, "IP_TTL", 0, "RoCE packets have the hop limit that the device gives them."),
	UNUSED(SOL_IP, 3, "IP_HDRINCL"),
	MAKES_TCP(SOL_IP, 4, "IP_OPTIONS", "reasons_agree", PACKETS),
	UNUSED(SOL_IP, 5, "IP_ROUTER_ALERT"),
	UNUSED(SOL_IP, 6, "IP_RECVOPTS"),
	UNUSED(SOL_IP, 7, "IP_RETOPTS"),
	NO_EFFECT(SOL_IP, 8, "IP_PKTINFO", 0, "As `IP_PKTOPTIONS`."),
	NO_EFFECT(SOL_IP, 9, "IP_PKTOPTIONS", 0, NO_PACKET),
	NO_EFFECT(SOL_IP, 10, "IP_MTU_DISCOVER", 0, "The path MTU of RDMA is told when the connection is made."),
	NO_EFFECT(SOL_IP, 11, "IP_RECVERR", 0, "No ICMP message is about a connection by SDP."),
	NO_EFFECT(SOL_IP, 12, "IP_RECVTTL", 0, "As `IP_PKTOPTIONS`."),
	NO_EFFECT(SOL_IP, 13, "IP_RECVTOS", 0, "As `IP_PKTOPTIONS`."),
	SAME_BUT(SOL_IP, 14, "IP_MTU", "mtu_of_route", GET | REQUIRED,
		 "A socket for SDP alone that was refused has no route any more: ENOTCONN. So has a connection whose "
		 "`IP_TOS`, `SO_MARK` or `SO_BINDTODEVICE` is set, as no packet finds another."),
	SAME_BUT(SOL_IP, 15, "IP_FREEBIND", NULL, 0, "What is bound to an address of no RDMA device is TCP."),
	MAKES_TCP(SOL_IP, 16, "IP_IPSEC_POLICY", "reasons_agree", PACKETS),
	MAKES_TCP(SOL_IP, 17, "IP_XFRM_POLICY", "reasons_agree", PACKETS),
	UNUSED(SOL_IP, 18, "IP_PASSSEC"),
	SAME_BUT(SOL_IP, 19, "IP_TRANSPARENT", NULL, 0, "As `IP_FREEBIND`."),
	UNUSED(SOL_IP, 20, "IP_RECVORIGDSTADDR"),
	MAKES_TCP(SOL_IP, 21, "IP_MINTTL", "reasons_agree", PACKETS),
	UNUSED(SOL_IP, 22, "IP_NODEFRAG"),
	UNUSED(SOL_IP, 23, "IP_CHECKSUM"),
	SAME(SOL_IP, 24, "IP_BIND_ADDRESS_NO_PORT", "port_*"),
	UNUSED(SOL_IP, 25, "IP_RECVFRAGSIZE"),
	UNUSED(SOL_IP, 26, "IP_RECVERR_RFC4884"),
	UNUSED(SOL_IP, 32, "IP_MULTICAST_IF"),
	NO_EFFECT(SOL_IP, 33, "IP_MULTICAST_TTL", VALUE, "Of a connection TCP reads the last packet's TTL there."),
	UNUSED(SOL_IP, 34, "IP_MULTICAST_LOOP"),
	UNUSED(SOL_IP, 35, "IP_ADD_MEMBERSHIP"),
	UNUSED(SOL_IP, 36, "IP_DROP_MEMBERSHIP"),
	UNUSED(SOL_IP, 37, "IP_UNBLOCK_SOURCE"),
	UNUSED(SOL_IP, 38, "IP_BLOCK_SOURCE"),
	UNUSED(SOL_IP, 39, "IP_ADD_SOURCE_MEMBERSHIP"),
	UNUSED(SOL_IP, 40, "IP_DROP_SOURCE_MEMBERSHIP"),
	UNUSED(SOL_IP, 41, "IP_MSFILTER"),
	UNUSED(SOL_IP, 42, "MCAST_JOIN_GROUP"),
	UNUSED(SOL_IP, 43, "MCAST_BLOCK_SOURCE"),
	UNUSED(SOL_IP, 44, "MCAST_UNBLOCK_SOURCE"),
	UNUSED(SOL_IP, 45, "MCAST_LEAVE_GROUP"),
	UNUSED(SOL_IP, 46, "MCAST_JOIN_SOURCE_GROUP"),
	UNUSED(SOL_IP, 47, "MCAST_LEAVE_SOURCE_GROUP"),
	UNUSED(SOL_IP, 48, "MCAST_MSFILTER"),
	UNUSED(SOL_IP, 49, "IP_MULTICAST_ALL"),
	UNUSED(SOL_IP, 50, "IP_UNICAST_IF"),
	SAME(SOL_IP, 51, "IP_LOCAL_PORT_RANGE", "port_range"),
	SAME(SOL_IP, 52, "IP_PROTOCOL", NULL),
	SAME(SOL_IP, 80, "SO_ORIGINAL_DST", NULL),

	SAME_BUT(SOL_IP, IP_SDP_INFO, "IP_SDP_INFO", "ip_info_*", GET,
		 "TCP has none, unless it fell back."),

	REFUSED(SOL_IPV6, 1, "IPV6_ADDRFORM", "addrform", 0,
		"It makes an IPv6 socket that is connected by IPv4 one of IPv4 by giving it TCP's functions: "
		"EOPNOTSUPP. Of any other it says what TCP says."),
	NO_EFFECT(SOL_IPV6, 2, "IPV6_2292PKTINFO", 0, "As `IPV6_2292PKTOPTIONS`."),
	NO_EFFECT(SOL_IPV6, 3, "IPV6_2292HOPOPTS", 0, "As `IPV6_2292PKTOPTIONS`."),
	NO_EFFECT(SOL_IPV6, 4, "IPV6_2292DSTOPTS", 0, "As `IPV6_2292PKTOPTIONS`."),
	NO_EFFECT(SOL_IPV6, 5, "IPV6_2292RTHDR", 0, "As `IPV6_2292PKTOPTIONS`."),
	NO_EFFECT(SOL_IPV6, 6, "IPV6_2292PKTOPTIONS", 0, NO_PACKET),
	UNUSED(SOL_IPV6, 7, "IPV6_CHECKSUM"),
	NO_EFFECT(SOL_IPV6, 8, "IPV6_2292HOPLIMIT", 0, "As `IPV6_2292PKTOPTIONS`."),
	UNUSED(SOL_IPV6, 9, "IPV6_NEXTHOP"),
	NO_EFFECT(SOL_IPV6, 11, "IPV6_FLOWINFO", 0, "As `IPV6_2292PKTOPTIONS`."),
	NO_EFFECT(SOL_IPV6, 16, "IPV6_UNICAST_HOPS", 0, "As `IP_TTL`."),
	NO_EFFECT(SOL_IPV6, 17, "IPV6_MULTICAST_IF", VALUE,
		  "Of a connection that was accepted TCP reads the last packet's device there."),
	NO_EFFECT(SOL_IPV6, 18, "IPV6_MULTICAST_HOPS", VALUE, "As `IP_MULTICAST_TTL`."),
	UNUSED(SOL_IPV6, 19, "IPV6_MULTICAST_LOOP"),
	UNUSED(SOL_IPV6, 20, "IPV6_ADD_MEMBERSHIP"),
	UNUSED(SOL_IPV6, 21, "IPV6_DROP_MEMBERSHIP"),
	UNUSED(SOL_IPV6, 22, "IPV6_ROUTER_ALERT"),
	NO_EFFECT(SOL_IPV6, 23, "IPV6_MTU_DISCOVER", 0, "As `IP_MTU_DISCOVER`."),
	SAME_BUT(SOL_IPV6, 24, "IPV6_MTU", "mtu_of_route", GET | REQUIRED, "As `IP_MTU`."),
	NO_EFFECT(SOL_IPV6, 25, "IPV6_RECVERR", 0, "As `IP_RECVERR`."),
	SAME_BUT(SOL_IPV6, 26, "IPV6_V6ONLY", "v6only_*", SET,
		 "It cannot be set once there is a port, and a socket that was connected by SDP keeps its own "
		 "until it is closed."),
	UNUSED(SOL_IPV6, 27, "IPV6_JOIN_ANYCAST"),
	UNUSED(SOL_IPV6, 28, "IPV6_LEAVE_ANYCAST"),
	UNUSED(SOL_IPV6, 29, "IPV6_MULTICAST_ALL"),
	UNUSED(SOL_IPV6, 30, "IPV6_ROUTER_ALERT_ISOLATE"),
	UNUSED(SOL_IPV6, 31, "IPV6_RECVERR_RFC4884"),
	NO_EFFECT(SOL_IPV6, 32, "IPV6_FLOWLABEL_MGR", 0, LABEL),
	NO_EFFECT(SOL_IPV6, 33, "IPV6_FLOWINFO_SEND", 0, LABEL),
	MAKES_TCP(SOL_IPV6, 34, "IPV6_IPSEC_POLICY", "reasons_agree", PACKETS),
	MAKES_TCP(SOL_IPV6, 35, "IPV6_XFRM_POLICY", "reasons_agree", PACKETS),
	UNUSED(SOL_IPV6, 36, "IPV6_HDRINCL"),
	UNUSED(SOL_IPV6, 42, "MCAST_JOIN_GROUP"),
	UNUSED(SOL_IPV6, 43, "MCAST_BLOCK_SOURCE"),
	UNUSED(SOL_IPV6, 44, "MCAST_UNBLOCK_SOURCE"),
	UNUSED(SOL_IPV6, 45, "MCAST_LEAVE_GROUP"),
	UNUSED(SOL_IPV6, 46, "MCAST_JOIN_SOURCE_GROUP"),
	UNUSED(SOL_IPV6, 47, "MCAST_LEAVE_SOURCE_GROUP"),
	UNUSED(SOL_IPV6, 48, "MCAST_MSFILTER"),
	NO_EFFECT(SOL_IPV6, 49, "IPV6_RECVPKTINFO", 0, "As `IPV6_2292PKTOPTIONS`."),
	UNUSED(SOL_IPV6, 50, "IPV6_PKTINFO"),
	NO_EFFECT(SOL_IPV6, 51, "IPV6_RECVHOPLIMIT", 0, "As `IPV6_2292PKTOPTIONS`."),
	UNUSED(SOL_IPV6, 52, "IPV6_HOPLIMIT"),
	NO_EFFECT(SOL_IPV6, 53, "IPV6_RECVHOPOPTS", 0, "As `IPV6_2292PKTOPTIONS`."),
	MAKES_TCP(SOL_IPV6, 54, "IPV6_HOPOPTS", NULL, PACKETS),
	MAKES_TCP(SOL_IPV6, 55, "IPV6_RTHDRDSTOPTS", NULL, PACKETS),
	NO_EFFECT(SOL_IPV6, 56, "IPV6_RECVRTHDR", 0, "As `IPV6_2292PKTOPTIONS`."),
	MAKES_TCP(SOL_IPV6, 57, "IPV6_RTHDR", NULL, PACKETS),
	NO_EFFECT(SOL_IPV6, 58, "IPV6_RECVDSTOPTS", 0, "As `IPV6_2292PKTOPTIONS`."),
	MAKES_TCP(SOL_IPV6, 59, "IPV6_DSTOPTS", "reasons_agree", PACKETS),
	UNUSED(SOL_IPV6, 60, "IPV6_RECVPATHMTU"),
	SAME_BUT(SOL_IPV6, 61, "IPV6_PATHMTU", "mtu_of_route", GET | REQUIRED, "As `IP_MTU`."),
	UNUSED(SOL_IPV6, 62, "IPV6_DONTFRAG"),
	NO_EFFECT(SOL_IPV6, 66, "IPV6_RECVTCLASS", 0, "As `IPV6_2292PKTOPTIONS`."),
	SAME_BUT(SOL_IPV6, 67, "IPV6_TCLASS", "options_tos type_of_service", 0, "As `IP_TOS`."),
	NO_EFFECT(SOL_IPV6, 70, "IPV6_AUTOFLOWLABEL", 0, LABEL),
	MAKES_TCP(SOL_IPV6, 72, "IPV6_ADDR_PREFERENCES", "reasons_agree",
		  "The source address is the routing table's choice, which is not asked for a temporary one."),
	MAKES_TCP(SOL_IPV6, 73, "IPV6_MINHOPCOUNT", "reasons_agree", PACKETS),
	UNUSED(SOL_IPV6, 74, "IPV6_RECVORIGDSTADDR"),
	SAME_BUT(SOL_IPV6, 75, "IPV6_TRANSPARENT", NULL, 0, "As `IP_FREEBIND`."),
	UNUSED(SOL_IPV6, 76, "IPV6_UNICAST_IF"),
	UNUSED(SOL_IPV6, 77, "IPV6_RECVFRAGSIZE"),
	SAME_BUT(SOL_IPV6, 78, "IPV6_FREEBIND", NULL, 0, "As `IP_FREEBIND`."),
	SAME(SOL_IPV6, 80, "IP6T_SO_ORIGINAL_DST", NULL),
	SAME_BUT(SOL_IPV6, IP_SDP_INFO, "IP_SDP_INFO", "ip_info_*", GET, "As by IPv4."),
};

const unsigned int compat_nr_options = ARRAY_SIZE(compat_options);

const struct compat_call compat_calls[] = {
	{ "bind", "bind()",
	  "A socket that was connected by SDP keeps its port until it is closed: EINVAL, where TCP's "
	  "may be bound anew." },
	{ "mmap", "mmap()",
	  "Of TCP's it maps the pages of packets (`TCP_ZEROCOPY_RECEIVE`): ENODEV." },
};

const unsigned int compat_nr_calls = ARRAY_SIZE(compat_calls);

const struct compat_behaviour compat_behaviours[] = {
	{ "A dead link is borne for about 4 s, by TCP for 15 minutes.",
	  "The device repeats a packet 6 times (`net.sdp.ack_timeout`, `ack_retries`); longer times would delay the "
	  "repair of a lost packet as well.", "dead_link user_timeout*" },
	{ "`SO_KEEPALIVE` that is set on a connection counts from the next call on it, and so do `SO_RCVBUF` and "
	  "`SO_SNDBUF`.",
	  "The kernel tells an upper layer protocol of options of TCP's level alone.",
	  "memory_within_buffers_set_late" },
	{ "With `SO_RCVLOWAT` a socket may be readable before there is so much.",
	  "It is when its receive buffers are used up: 63 of 16 KiB, each at least half full, fewer with `SO_RCVBUF`; of "
	  "4 KiB while the peer sends short messages. TCP's limit is its buffer, too.", "rcvlowat_too_much" },
	{ "A connection leaves by the device that has its local address, even where a route for the peer names another.",
	  "A queue pair belongs to a device and to one of its addresses.", "bound_to_another_device" },
	{ "On Linux 6.16 and newer a client by IPv4 has its port for itself, at one address; by IPv6, and before, it is "
	  "shared by destination as TCP's.",
	  "The kernel exports no function any more that files a socket so (`inet_hash_connect()`).", "ports_shared" },
	{ "On Linux 6.16 and newer two clients that are bound to one port of no address may both be connected to one "
	  "server; TCP refuses the second.",
	  "Who is bound to no address stays filed under that: the kernel exports no function any more that moves it "
	  "(`inet_bhash2_update_saddr()`).", "port_of_any_address" },
	{ "A client that was bound to port 0 and connected keeps that port after `connect(AF_UNSPEC)`.",
	  "What SDP took it keeps until the socket is closed; TCP takes another.", NULL },
	{ "A listener that takes clients of both kinds has a backlog for each.",
	  "Clients by TCP wait in the kernel's own queue, which counts nothing else.", "backlog_exact_mixed" },
	{ "When a listener is ended from outside (`ss -K`), those who wait there by SDP are reset at the program's next "
	  "`accept()`, not at once.",
	  "The kernel tells an upper layer protocol nothing of it.", "listener_destroyed*" },
	{ "`accept()` of a client by SDP asks the hooks of `socket()` too (`sock_create` of a cgroup's BPF program, a "
	  "security module): where they deny, it fails.",
	  "The child is a socket that the kernel's `sock_create()` makes.", NULL },
	{ "Landlock's rules about ports are not asked about an address of family 27.",
	  "Landlock looks at AF_INET and AF_INET6. Only sockets of `socket(27)` take such an address; the module's "
	  "parameter `family_addr=0` refuses it.", "family_27_refused" },
	{ "`ss` does not show connections by SDP, or shows a client in state CLOSE; `sdpstat` shows them.",
	  "To TCP the socket is not connected.", "dump_*" },
	{ "nftables, tc, tcpdump, xfrm and conntrack see nothing of a connection by SDP.",
	  "No RDMA traffic passes the kernel.", NULL },
	{ "While a call waits for a page of its caller's memory (a slow file, userfaultfd), another thread's `poll()` of "
	  "that socket hears of nothing.",
	  "The caller has the receive part of the connection meanwhile.", NULL },
	{ "A device that cannot map a message for DMA ends the connection: ECONNRESET.",
	  "The message has its place in the stream by then.", NULL },
	{ "What a connection holds before `accept()` is charged to no memory cgroup, nor what is left of it in empty "
	  "buffers (16 KiB) until they are used.",
	  "Whose it is turns out at `accept()`.", "memory_cgroup_before_accept" },
	{ "A `send()` with `MSG_ZEROCOPY`, or a `recv()` with `MSG_PEEK|MSG_WAITALL`, that waits for a connection which "
	  "then falls back has its whole time-out once more.",
	  "TCP's own call is made then, which begins anew.", NULL },
};

const unsigned int compat_nr_behaviours = ARRAY_SIZE(compat_behaviours);

const struct compat_option *compat_option(int level, int option)
{
	unsigned int i;

	for (i = 0; i < compat_nr_options; i++)
		if (compat_options[i].level == level && compat_options[i].option == option)
			return &compat_options[i];
	return NULL;
}

/* ----------------------------------------------------------------- what was seen */

static struct seen {
	unsigned char options[NR_VARIANTS][ARRAY_SIZE(compat_options)];
	bool calls[NR_VARIANTS][ARRAY_SIZE(compat_calls)];
} *seen;

void compat_init(void)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(seen != MAP_FAILED);
}

void compat_saw_option(unsigned int n, const struct compat_option *row, unsigned int what)
{
	if (seen)
		seen->options[n][row - compat_options] |= what;
}

void compat_saw_call(unsigned int n, const struct compat_call *row)
{
	if (seen)
		seen->calls[n][row - compat_calls] = true;
}

bool compat_has_seen_option(unsigned int n, const struct compat_option *row, unsigned int what)
{
	return seen->options[n][row - compat_options] & what;
}

bool compat_has_seen_call(unsigned int n, const struct compat_call *row)
{
	return seen->calls[n][row - compat_calls];
}
